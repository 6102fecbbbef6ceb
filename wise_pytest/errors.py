"""Every error that wise-pytest raises on purpose.

::

    WiseError
    ├── ConfigError            what the user asked for cannot be done; nothing has run
    │   ├── OptionError        a command-line option, ini value or [tool.wise] setting
    │   ├── PanelError         a panel file, the item manifest or a verifier's arguments
    │   ├── ModelError         a model name, glob or registry entry
    │   ├── CassetteError      a recording that is cut, corrupt or from another version
    │   ├── RowsError          a rows file that cannot be read or contradicts itself
    │   └── ReportError        a report that cannot be written where it was asked for
    ├── BudgetReached          one cell was not asked, since the run's budget does not reach for it
    └── TechnicalError         one cell has no usable reply; it is never scored
        ├── MissingRecording   replaying, and this cell was never recorded
        ├── StaleRecording     replaying, and the request has changed since it was recorded
        └── TransportError     no reply arrived (connection, timeout, cut body) after all tries

A ``ConfigError`` ends a pytest run with exit code 4 and ``wise`` with exit code 2.
A ``TechnicalError`` ends one test; its cell becomes a row with the status ``error``. One that is
none of the kinds below it is a reply that holds no answer; its message is the provider's.
"""

from __future__ import annotations


class WiseError(Exception):
    """Base of all errors raised by wise-pytest."""


class ConfigError(WiseError):
    """Something the user gave cannot be used; the message names it and what to do."""


class OptionError(ConfigError):
    """A command-line option, ini value or ``[tool.wise]`` setting."""


class PanelError(ConfigError):
    """A panel file, the item manifest, or a verifier's arguments."""


class ModelError(ConfigError):
    """A model name, a glob, or an entry of the model registry."""


class CassetteError(ConfigError):
    """A recording that is cut, corrupt or from another version."""


class RowsError(ConfigError):
    """A rows file that cannot be read or contradicts itself."""


class ReportError(ConfigError):
    """A report that cannot be written where it was asked for."""


class BudgetReached(WiseError):  # noqa: N818 - named for what happened, as the tree reads
    """One cell was not asked, since the run's budget does not reach for it; it has no row."""


class TechnicalError(WiseError):
    """One cell has no usable reply; it is counted as technical, never scored."""


class MissingRecording(TechnicalError):  # noqa: N818 - named for what happened, as the tree reads
    """Replaying, and this cell was never recorded."""


class StaleRecording(TechnicalError):  # noqa: N818
    """Replaying, and the request has changed since it was recorded."""


class TransportError(TechnicalError):
    """No reply arrived after all tries."""
