"""Who answers, and in which words one asks: models, and the protocols they are reached by.

A protocol is two pure functions, one that writes a request and one that reads
a reply; nothing in this folder opens a socket.
"""
