"""Eviction of programs of eager calls: the programs used last are kept, as many as an option says.

The first call of a program passes through Python; C++ runs the later calls and does not report them. When three quarters of the
room are taken, the half of the programs that passed through Python longest ago is therefore put on probation: C++ forgets their
functions, so that the next call of such a program passes through Python, and the program is kept. The other programs are forgotten
in turn, each after new programs for a quarter of the room. Source: the algorithm CLOCK, Corbató, "A Paging Experiment with the
Multics System", 1968.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable, MutableMapping
from typing import Any

from laminax_ir.options import config_options


def _check_count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= -1:
        return value
    raise ValueError


eager_cache_size = config_options.define(
    "eager_cache_size",
    2048,
    config_options.ValueType("a number of programs, 0 or more, or -1 for no limit", _check_count, lambda text: _check_count(int(text))),
    "How many compiled programs of calls outside of jitted functions, such as x + 1, are kept; the least recently used go first. -1 is no "
    "limit.",
)


class Owner:
    """A function of which programs are kept.

    Args:
      programs: its programs by key, from which they are removed.
      drop_entries: makes C++ forget the function's programs.
    """

    def __init__(self, programs: MutableMapping[Hashable, Any], drop_entries: Callable[[], None]) -> None:
        self.programs = programs
        self.drop_entries = drop_entries


class RecentPrograms:
    """The programs of all eager functions, by owner and key."""

    def __init__(self) -> None:
        self._recent: dict[tuple[Owner, Hashable], None] = {}  # the program that passed through Python longest ago comes first
        self._on_probation: dict[tuple[Owner, Hashable], None] = {}  # the next program to be forgotten comes first; C++ has none of them
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._recent) + len(self._on_probation)

    def note(self, owner: Owner, key: Hashable) -> bool:
        """Records that a call of a program passed through Python; forgets other programs if there is no room.

        Returns:
          Whether the program is kept, so that C++ may have it.
        """
        limit, program = eager_cache_size.value, (owner, key)
        with self._lock:
            self._recent.pop(program, None)
            self._on_probation.pop(program, None)
            while limit >= 0 and len(self) > max(limit - 1, 0):
                self._forget_one()
            if limit == 0:
                owner.programs.pop(key, None)
                return False
            self._recent[program] = None
            if len(self._recent) > 3 * limit // 4 >= 0:
                self._put_on_probation(len(self._recent) // 2)
            return True

    def _put_on_probation(self, count: int) -> None:
        oldest = list(itertools.islice(self._recent, count))
        for program in oldest:
            del self._recent[program]
            self._on_probation[program] = None
        for owner in {owner for owner, _ in oldest}:
            owner.drop_entries()

    def _forget_one(self) -> None:
        if not self._on_probation:
            self._put_on_probation(len(self._recent))
        owner, key = program = next(iter(self._on_probation))
        del self._on_probation[program]
        owner.programs.pop(key, None)

    def clear(self) -> None:
        """Forgets all programs; the caller clears the entries in C++."""
        with self._lock:
            for owner, key in (*self._recent, *self._on_probation):
                owner.programs.pop(key, None)
            self._recent.clear()
            self._on_probation.clear()


recent_programs = RecentPrograms()
