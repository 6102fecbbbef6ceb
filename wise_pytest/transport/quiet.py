"""Keeping what providers send out of other people's logs.

httpcore logs the headers of every reply, and httpx the words beside its status,
long before anybody could take a repeated key or an account out of them.
"""

from __future__ import annotations

import logging
import threading

THREAD_PREFIX = "wise-"
"""How the names of threads begin that exchange something with a provider."""
LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpx")
"""A filter holds for the very logger that it is added to, and not for those below it."""


class _OfOthers(logging.Filter):
    """Lets through what is logged by threads that are not ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        del record  # it names its thread only if logging was told to note it
        return not threading.current_thread().name.startswith(THREAD_PREFIX)


_FILTER = _OfOthers()


def keep_quiet() -> None:
    """Drop these libraries' records of our own threads; adding the filter again changes nothing."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
