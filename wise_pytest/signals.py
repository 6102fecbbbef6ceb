"""What asks a process to end, such as a cancelled job of CI, ends a live run as Ctrl-C does.

Python's own answer to SIGTERM is to be gone at once, with everything that is under way.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def end_like_ctrl_c() -> Callable[[], None]:
    """Have SIGTERM raise ``KeyboardInterrupt``, unless somebody else has a use for it; what undoes that."""
    if threading.current_thread() is not threading.main_thread():
        return _nothing
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return _nothing
    signal.signal(signal.SIGTERM, _interrupt)
    return _restore


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _restore() -> None:
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _nothing() -> None:
    pass
