"""From rows to the audit, and from the audit to a verdict.

``wise audit`` calls, in this order: ``rows.read_rows`` (and ``rows.rescore``),
``audit.build_audit``, ``gate.evaluate_gate``, and ``document.to_document`` with
``document.dump``. The end of a session, ``finish``, has its rows and calls the
rest. Nothing here is imported by the package itself: pandas and numpy load only
when an audit is built.
"""
