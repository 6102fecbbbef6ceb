"""From rows to the audit, and from the audit to a verdict.

The session and ``wise audit`` call, in this order: ``rows.read_rows`` (and
``rows.rescore``), ``audit.build_audit``, ``gate.evaluate_gate``, and
``document.to_document`` with ``document.dump``. Nothing here is imported by
the package itself: pandas and numpy load only when an audit is built.
"""
