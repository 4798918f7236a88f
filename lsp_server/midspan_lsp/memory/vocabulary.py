"""Strings as numbers. A string is known as long as some document holds it, and forgotten with the last one."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof

import numpy as np
import numpy.typing as npt

from midspan_lsp.memory.tokens import KIND_BITS, KIND_MASK, kind_of

Ids = npt.NDArray[np.int32]
"""Token ids, shape (n,): a string's number, its kind in the three lowest bits. 0 is the separator."""

_TABLE_BYTES = 134  # of one string: its entries in the dictionary, the list and the three arrays

_LEAST_ROOM = 1024


class Vocabulary:
    """Interned strings with the number of their occurrences."""

    def __init__(self) -> None:
        self._id_of: dict[str, int] = {}
        self._strings: list[str] = [""]
        self._free: list[int] = []
        self._counts = np.zeros(_LEAST_ROOM, np.int32)
        self._lengths = np.zeros(_LEAST_ROOM, np.int32)
        self._firsts = np.zeros(_LEAST_ROOM, np.int32)
        self._string_bytes = 0

    def __len__(self) -> int:
        return len(self._id_of)

    def __contains__(self, string: object) -> bool:
        return string in self._id_of

    @property
    def size(self) -> int:
        """One more than the greatest string number in use."""
        return len(self._strings)

    @property
    def n_bytes(self) -> int:
        """Memory it takes, about."""
        return self._string_bytes + _TABLE_BYTES * len(self._strings)

    def take(self, strings: Sequence[str]) -> Ids:
        """Ids of the strings, new ones where needed; each occurrence is counted."""
        id_of = self._id_of
        try:
            ids = np.fromiter(map(id_of.__getitem__, strings), np.int32, len(strings))
        except KeyError:
            for string in strings:
                if string not in id_of:
                    self._add(string)
            ids = np.fromiter(map(id_of.__getitem__, strings), np.int32, len(strings))
        self.take_ids(ids)
        return ids

    def take_ids(self, ids: Ids) -> None:
        """Count one more occurrence of each of these known ids."""
        occurrences = np.bincount(ids >> KIND_BITS)
        self._counts[: len(occurrences)] += occurrences.astype(np.int32)

    def release(self, ids: Ids) -> None:
        """Take back the count of these occurrences; strings without any are forgotten."""
        numbers = ids >> KIND_BITS
        occurrences = np.bincount(numbers)
        self._counts[: len(occurrences)] -= occurrences.astype(np.int32)
        gone: list[int] = numbers[self._counts[numbers] == 0].tolist()
        for number in dict.fromkeys(gone):
            if number:
                string: str = self._strings[number]
                self._string_bytes -= getsizeof(string)
                del self._id_of[string]
                self._strings[number] = ""
                self._free.append(number)

    def find(self, string: str) -> int:
        """Id of a string; of an unknown one a negative number with the string's kind in its lowest bits."""
        return self._id_of.get(string) or (-1 << KIND_BITS) + kind_of(string)

    def string(self, token_id: int) -> str:
        """The string of an id."""
        return self._strings[token_id >> KIND_BITS]

    def count(self, token_id: int) -> int:
        """How often a token occurs; an unknown one never does."""
        return int(self._counts[token_id >> KIND_BITS]) if token_id > 0 else 0

    def numbers(self, ids: Ids) -> Ids:
        """Each id's string number; same shape."""
        return ids >> KIND_BITS

    def that_begin_with(self, start: str) -> npt.NDArray[np.bool_]:
        """For each string number whether its string begins so, shape (size,); `start` has a character at least."""
        begin = np.zeros(self.size, np.bool_)
        numbers = np.flatnonzero(self._firsts[: self.size] == ord(start[0]))
        begin[numbers] = [self._strings[number].startswith(start) for number in numbers.tolist()]
        return begin

    def lengths(self, ids: Ids) -> Ids:
        """Code points of each id's string; same shape."""
        return self._lengths[ids >> KIND_BITS]

    def text(self, ids: Ids) -> str:
        """The strings of the ids, joined."""
        strings = self._strings
        numbers: list[int] = (ids >> KIND_BITS).tolist()
        return "".join([strings[number] for number in numbers])

    @property
    def is_sparse(self) -> bool:
        """Whether most of its room is that of forgotten strings."""
        return len(self._free) > max(_LEAST_ROOM, len(self._id_of))

    def compact(self) -> Ids:
        """Number the strings anew, without gaps; shape (size,): for each old number the new id."""
        id_of: dict[str, int] = self._id_of
        old: list[str] = self._strings
        new_ids = np.zeros(len(old), np.int32)
        numbers = [token_id >> KIND_BITS for token_id in id_of.values()]
        room = max(_LEAST_ROOM, 2 * len(numbers))
        self._counts, self._lengths, self._firsts = (
            np.concatenate([np.zeros(1, np.int32), array[numbers], np.zeros(room - len(numbers) - 1, np.int32)])
            for array in (self._counts, self._lengths, self._firsts)
        )
        self._strings = ["", *[old[number] for number in numbers]]
        self._free = []
        ids = [(new << KIND_BITS) | (token_id & KIND_MASK) for new, token_id in enumerate(id_of.values(), 1)]
        self._id_of = dict(zip(id_of, ids, strict=True))
        new_ids[numbers] = ids
        return new_ids

    def _add(self, string: str) -> None:
        if self._free:
            number = self._free.pop()
            self._strings[number] = string
        else:
            number = len(self._strings)
            self._strings.append(string)
            if number == len(self._counts):
                self._counts, self._lengths, self._firsts = (
                    np.concatenate([array, np.zeros(number, np.int32)])
                    for array in (self._counts, self._lengths, self._firsts)
                )
        self._lengths[number], self._firsts[number] = len(string), ord(string[0])
        self._string_bytes += getsizeof(string)
        self._id_of[string] = (number << KIND_BITS) | kind_of(string)
