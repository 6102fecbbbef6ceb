"""Nothing is needed here: the plugin is found by its entry point, and so it is in your own repository."""
