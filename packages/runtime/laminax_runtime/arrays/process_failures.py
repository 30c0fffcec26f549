"""Errors of arrays whose computation another process did not take part in to its end: they name the process.

Installed where processes watch over each other only: the methods of all other programs have nothing in their way.
"""

from __future__ import annotations

from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.backends import backends, processes
from laminax_runtime.base.members import set_members


def _install(client: _jaxlib.Client) -> None:
    global _is_installed
    if _is_installed or processes.state.watch is None:
        return
    methods: Any = ArrayImpl  # jaxlib's, and those that are set on it
    value, wait = methods._value, methods.block_until_ready

    def explained_value(self: ArrayImpl) -> Any:
        with processes.naming_failures():
            return value.fget(self)

    def explained_wait(self: ArrayImpl) -> ArrayImpl:
        with processes.naming_failures():
            return wait(self)

    explained_value.__doc__, explained_wait.__doc__ = value.__doc__, wait.__doc__
    set_members(ArrayImpl, {"_value": property(explained_value), "block_until_ready": explained_wait})
    _is_installed = True


_is_installed = False
backends.when_started(_install)
