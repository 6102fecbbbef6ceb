"""Panels: matched wordings of one requirement, over one set of items.

``model`` says what a panel is, ``manifest`` reads the bundled items and
``tables`` those of a panel's own, ``loader`` one panel file and ``own`` the
function that it may name, ``catalog`` knows which panels there are,
``selection`` narrows one to what the user asked for, and ``cells`` plans the
generations. ``check``, ``starter`` and ``review`` serve the commands of the same name.
"""
