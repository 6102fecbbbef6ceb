"""One chart a module: from a panel of the document to a `Figure`, or to nothing where it has no data."""
