"""The parts of the pages that the code knows best, one module a page. ``build`` places them."""
