"""How a live run's tests are dealt out to xdist's workers: all at once, the next one to each in turn.

xdist's own scheduler gives each worker a few tests at a time, over which alone
it could look ahead; and in blocks, so that one worker would meet the first
model alone, and the other the second. Imported by ``workers`` where it is used.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScheduling


class DealingOut(LoadScheduling):  # type: ignore[misc]  # xdist has no types for others
    """xdist's scheduler, but for when a worker gets its tests."""

    def schedule(self) -> None:
        """Deal all tests out, once all workers have collected the same ones."""
        is_first = self.collection is None
        super().schedule()
        if is_first:
            nodes, rest = self.nodes, list(self.pending)
            for number, node in enumerate(nodes):
                self._give(node, rest[number :: len(nodes)])
            for node in nodes:
                self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Give a worker that has taken another one's place its part of what is left."""
        del duration
        if node.shutting_down:
            return
        if self.pending:
            n_open = sum(not other.shutting_down for other in self.nodes)
            self._give(node, self.pending[: -(-len(self.pending) // n_open)])
        if not self.pending:
            node.shutdown()

    def _give(self, node: Any, indices: list[int]) -> None:
        if indices:
            given = set(indices)
            self.pending[:] = [index for index in self.pending if index not in given]
            self.node2pending[node].extend(indices)
            node.send_runtest_some(indices)
