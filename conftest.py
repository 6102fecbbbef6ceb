"""Nothing is needed here: the plugin is found by its entry point. Your own repository needs no conftest.py."""
