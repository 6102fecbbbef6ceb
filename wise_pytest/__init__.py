"""WISE, Wording Invariance and Sensitivity Evaluation, as a pytest plugin.

The package is used through pytest (``pytest --model NAME``) and through the
command ``wise``. Importing it costs nothing: modules load when they are used.
"""

__version__ = "0.1.0"
