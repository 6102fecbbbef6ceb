"""Verifiers: one module a constraint, each with one pure function from text to verdict.

``registry`` holds the table of them all. A verifier sees the complete visible
output, strips and repairs nothing, and returns a verdict whatever the text.
"""

from wise_pytest.verifiers.registry import VERIFIERS, Verifier, get_verifier

__all__ = ["VERIFIERS", "Verifier", "get_verifier"]
