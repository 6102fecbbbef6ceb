"""How patient the client and the wire are. The client takes the defaults, ``introspect`` is less patient."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of one exchange. All times are seconds."""

    max_attempts: int = 4
    """Tries in all, from 1."""
    timeout_s: float = 120.0
    """One try in all, from connecting to the last byte."""
    connect_timeout_s: float = 10.0
    backoff_s: float = 0.5
    """Pause before the second try; it doubles with each further one."""
    max_backoff_s: float = 20.0
    jitter: float = 0.25
    """Share of a pause, 0 to 1, that chance may take off, so that workers do not return in step."""
    max_retry_after_s: float = 60.0
    """The longest pause that a server may ask for; a reply that asks for more is final."""
    max_body_bytes: int = 10_000_000
    """A longer reply is no answer to a prompt of ours."""
    outage_s: float = 120.0
    """How long a provider that has replied before may be silent until its calls are given up."""
    max_probe_pause_s: float = 30.0
    """The longest distance of two tries to reach a provider that is down."""
    max_silent_tries: int = 2
    """Tries of one call that may run into the time limit where no reply has ever come."""

    def pause_s(self, attempt: int, chance: float) -> float:
        """Seconds to wait after try number ``attempt``, with ``chance`` drawn from 0..1."""
        grown = self.backoff_s * 2.0 ** min(attempt - 1, 30)
        return min(grown, self.max_backoff_s) * (1.0 - self.jitter * chance)
