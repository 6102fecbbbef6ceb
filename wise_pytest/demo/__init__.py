"""A small recording that comes with the package, and the panel's test that replays it: ``wise demo``."""
