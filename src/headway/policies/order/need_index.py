"""Waiting requests by rank and by need: the first one of those that need at most so many positions."""

from __future__ import annotations

import heapq

from headway.core.sequence import WAITING, Sequence

Entry = tuple[float, int, int, int, Sequence]  # key, ticket, mark of the sequence when it was entered, need, sequence


class NeedIndex:
    """A heap for each need, under a tree that knows the first entry of any range of needs.

    An entry counts while its sequence waits and bears the entry's mark: who was admitted, left or got another key is
    dropped when it is first, or when too many of them are met. Cost: O(log needs + log n) an entry or question, and
    memory for the needs that occur.

    Args:
        largest: the most positions that anybody needs.
    """

    __slots__ = ("_best", "_covers", "_heaps", "_size")

    def __init__(self, largest: int) -> None:
        self._size: int = 1 << (largest - 1).bit_length()  # leaves of the tree: needs 1 .. size
        self._heaps: dict[int, list[Entry]] = {}
        self._best: dict[int, Entry] = {}  # first entry under a node, where there is one
        self._covers: dict[int, list[int]] = {}  # by need: the nodes that stand for all needs up to it

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
        """Return the entries whose key is `limit` or less, in order, `most` of them at the most; nothing is moved."""
        found: list[Entry] = []
        best, heaps, size = self._best, self._heaps, self._size
        ahead = [(best[node], node, 0) for node in self._cover(space) if node in best]  # entry, node, place in its heap
        heapq.heapify(ahead)
        gone: dict[int, int] = {}
        while ahead and len(found) < most and ahead[0][0][0] <= limit:
            entry, node, place = heapq.heappop(ahead)
            if node < size:
                for child in (2 * node, 2 * node + 1):
                    if child in best:
                        heapq.heappush(ahead, (best[child], child, 0))
                continue
            if _counts(entry):
                found.append(entry)
            else:
                gone[node] = gone.get(node, 0) + 1
            heap = heaps[node]
            for child in range(2 * place + 1, min(2 * place + 3, len(heap))):
                heapq.heappush(ahead, (heap[child], node, child))
        self._sweep(gone)
        return found

    def _root(self, space: int) -> Entry | None:
        """Return the first entry of a range of needs, whether it counts or not."""
        best = self._best
        if space >= self._size:
            return best.get(1)
        found: Entry | None = None
        for node in self._covers.get(space) or self._cover(space):
            entry = best.get(node)
            if entry is not None and (found is None or entry < found):
                found = entry
        return found

    def _cover(self, space: int) -> list[int]:
        """Return the nodes that stand for the needs up to `space`; they are remembered."""
        if space >= self._size:
            return [1]
        nodes = self._covers[space] = []
        node = self._size + space
        while node > 1:
            if node & 1:
                nodes.append(node - 1)
            node >>= 1
        return nodes

    def _sweep(self, gone: dict[int, int]) -> None:
        """Clear the heaps in which so many entries that no longer count were met that it pays to look at all."""
        for node, met in gone.items():
            heap = self._heaps[node]
            if met * met > len(heap):
                heap[:] = [entry for entry in heap if _counts(entry)]
                heapq.heapify(heap)
                self._renew(node)

    def _drop(self, entry: Entry) -> None:
        """Take out an entry that is the first one of its need."""
        node = self._size + entry[3] - 1
        heap = self._heaps[node]
        heapq.heappop(heap)
        while heap and not _counts(heap[0]):
            heapq.heappop(heap)
        self._renew(node)

    def _renew(self, node: int) -> None:
        """The heap of a need has changed: renew what the tree knows of it."""
        best = self._best
        heap = self._heaps[node]
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
