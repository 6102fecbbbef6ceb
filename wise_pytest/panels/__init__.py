"""Panels: matched wordings of one requirement, over one manifest of items.

``model`` says what a panel is, ``manifest`` reads the items, ``loader`` the
panel files beside it, ``selection`` narrows them to what the user asked for,
and ``cells`` plans the generations.
"""
