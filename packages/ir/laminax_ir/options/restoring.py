"""Context managers that change something for a while, and change it back whatever happens: errors on the way in, and signals.

Python handles signals, among other times, when it enters a Python function: KeyboardInterrupt may be raised when `__exit__` has been called
and has done nothing yet, and it is not called again (issue 29988 of CPython). The `__exit__` that `with` keeps is therefore no Python
function, which tracebacks keep too, but an object of C. `with` lets go of this object in any case before the exception goes on, and the
object's end changes things back if its call has not.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from functools import partial
from typing import Any
from weakref import ref


class _Exit:
    """The descriptor `__exit__`: gives each `with` an exit of its own, before it enters."""

    def __get__(self, manager: Restoring | None, owner: type[Any]) -> Any:
        if manager is None:
            return _leave
        guard: list[ref] = []
        leave = partial(_leave_guarded, manager, guard)
        guard.append(ref(leave, partial(_go_back, manager, len(manager._saved))))  # called if `leave` ends while the guard is there
        return leave


def _leave(manager: Restoring, *_exc_info: object) -> None:
    manager._put_back(manager._saved[-1])
    manager._saved.pop()


def _leave_guarded(manager: Restoring, guard: list[ref], *_exc_info: object) -> None:
    manager._put_back(manager._saved[-1])
    manager._saved.pop()
    guard.clear()


def _go_back(manager: Restoring, depth: int, _left: ref | None = None) -> None:
    while len(manager._saved) > depth:
        _leave(manager)


class Restoring(ContextDecorator):
    """A context manager and decorator, which may be entered again inside itself. Subclasses define the four methods below.

    They may be interrupted at any point, and what was begun is then put back as a whole: `_put_back` must work from any state.
    """

    __slots__ = ("_saved",)

    def __init__(self) -> None:
        self._saved: list[Any] = []  # the values before, one for each time that the manager is entered

    def _present(self) -> Any:
        """The present value of what the manager changes."""
        raise NotImplementedError

    def _change(self) -> Any:
        """Makes the change; returns what `as` names."""
        raise NotImplementedError

    def _put_back(self, before: Any) -> None:
        """Puts the earlier value back."""
        raise NotImplementedError

    def _recreate_cm(self) -> Restoring:
        """Another one of the same kind: a decorated function may run in several threads at once."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        depth = len(self._saved)
        try:
            self._saved.append(self._present())
            return self._change()
        except BaseException:
            _go_back(self, depth)
            raise

    __exit__: _Exit = _Exit()


class Together(Restoring):
    """Several context managers as one, entered in order."""

    __slots__ = ("_managers",)

    def __init__(self, *managers: Restoring) -> None:
        super().__init__()
        self._managers = managers

    def _recreate_cm(self) -> Together:
        return Together(*[manager._recreate_cm() for manager in self._managers])

    def _present(self) -> list[int]:
        return [len(manager._saved) for manager in self._managers]

    def _change(self) -> None:
        for manager in self._managers:
            manager.__enter__()

    def _put_back(self, before: list[int]) -> None:
        for manager, depth in zip(reversed(self._managers), reversed(before)):
            _go_back(manager, depth)
