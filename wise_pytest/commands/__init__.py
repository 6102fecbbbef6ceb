"""The commands of ``wise``, one module each: its options, and what it does.

A module here has one function ``add_to(commands)`` that ``cli`` calls; heavy
imports wait until the command runs.
"""
