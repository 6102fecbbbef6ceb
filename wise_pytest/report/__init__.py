"""The audit document, laid out for people and for other programs.

Everything here takes the decoded ``audit.json`` and nothing else. It chooses,
formats and lays out; a number that the document lacks is shown as missing.
Import from the submodules: ``kinds`` is light enough for option parsing, the
others are for the end of a run.
"""
