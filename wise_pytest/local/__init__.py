"""A real model on this machine: its weights, and the server that answers for it; for ``wise local``."""
