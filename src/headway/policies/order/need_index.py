"""Waiting requests by rank and by need: the first one of those that need at most so many positions."""

from __future__ import annotations

import heapq

from headway.core.sequence import WAITING, Sequence

Entry = tuple[float, int, int, int, Sequence]  # key, ticket, mark of the sequence when it was entered, need, sequence


class NeedIndex:
    """A heap for each need, under a tree that knows the first entry of any range of needs.

    An entry counts while its sequence waits and bears the entry's mark: who was admitted, left or got another key is
    dropped when it is met. Cost: O(log needs + log n) an entry or question, and memory for the needs that occur.

    Args:
        largest: the most positions that anybody needs.
    """

    __slots__ = ("_best", "_heaps", "_size")

    def __init__(self, largest: int) -> None:
        self._size: int = 1 << (largest - 1).bit_length()  # leaves of the tree: needs 1 .. size
        self._heaps: dict[int, list[Entry]] = {}
        self._best: dict[int, Entry] = {}  # first entry under a node, where there is one

    def push(self, need: int, key: float, seq: Sequence) -> None:
        """Enter a sequence that needs so many positions; entries of it with other marks no longer count."""
        entry = (key, seq.ticket, seq.mark, need, seq)
        node = self._size + need - 1
        heapq.heappush(self._heaps.setdefault(node, []), entry)
        best = self._best
        while node and (node not in best or entry < best[node]):
            best[node] = entry
            node >>= 1

    def first(self, space: int) -> Entry | None:
        """Return the entry with the smallest key (ties by ticket) of those that need at most `space` positions."""
        while True:
            found = self._root(space)
            if found is None or _counts(found):
                return found
            self._drop(found)

    def firsts(self, space: int, limit: float, most: int) -> list[Entry]:
        """Return the entries whose key is `limit` or less, in order, `most` of them at the most."""
        found: list[Entry] = []
        while len(found) < most:
            entry = self.first(space)
            if entry is None or entry[0] > limit:
                break
            found.append(entry)
            self._drop(entry)
        for entry in found:
            self.push(entry[3], entry[0], entry[4])
        return found

    def _root(self, space: int) -> Entry | None:
        """Return the first entry of a range of needs, whether it counts or not."""
        best = self._best
        if space >= self._size:
            return best.get(1)
        found: Entry | None = None
        node = self._size + space
        while node > 1:
            if node & 1:
                entry = best.get(node - 1)
                if entry is not None and (found is None or entry < found):
                    found = entry
            node >>= 1
        return found

    def _drop(self, entry: Entry) -> None:
        """Take out an entry that is the first one of its need."""
        best = self._best
        node = self._size + entry[3] - 1
        heap = self._heaps[node]
        heapq.heappop(heap)
        while heap and not _counts(heap[0]):
            heapq.heappop(heap)
        if heap:
            best[node] = heap[0]
        else:
            del self._heaps[node], best[node]
        node >>= 1
        while node:
            left, right = best.get(2 * node), best.get(2 * node + 1)
            first = left if right is None or (left is not None and left < right) else right
            if first is None:
                del best[node]
            else:
                best[node] = first
            node >>= 1


def _counts(entry: Entry) -> bool:
    seq = entry[4]
    return seq.state == WAITING and seq.evictions == 0 and seq.mark == entry[2]
