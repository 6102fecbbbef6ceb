"""What asks a process to end, such as a cancelled job of CI, ends a live run as Ctrl-C does.

Python's own answer to SIGTERM is to be gone at once, with everything that is under way.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def end_like_ctrl_c() -> Callable[[], None]:
    """Have SIGTERM raise ``KeyboardInterrupt``, unless somebody else has a use for it; what undoes that."""
    if threading.current_thread() is not threading.main_thread():
        return _nothing
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return _nothing
    signal.signal(signal.SIGTERM, _interrupt)
    return _restore


@contextmanager
def held_back() -> Iterator[None]:
    """Have Ctrl-C, and what ends a run like it, wait until what is inside is done.

    For imports: a library of compiled modules whose import was broken off, such as
    numpy, cannot be imported again, and the run that ends needs it for its audit.
    """
    came: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):  # others end the process, or are not Python's
                handlers[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for arrived in dict.fromkeys(came):
            signal.raise_signal(arrived)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _restore() -> None:
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _nothing() -> None:
    pass
