"""Recordings: what is kept of an exchange, where, and how VCR.py gets it back.

``scrub`` decides what may reach the disk, ``pack`` is the file format, ``store``
the folder of packs that a session reads and appends to, ``vcr`` the bridge to
VCR.py, ``stale`` explains why a recording does not fit a request any more, and
``inventory`` lists what is recorded beside what is planned.
"""
