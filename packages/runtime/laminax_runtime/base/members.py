"""Members of jaxlib's classes: methods and properties that are set on them, here and by the layer above."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def set_members(cls: type, members: type | Mapping[str, Any]) -> None:
    """Sets the members of a plain class, or of a mapping, on one of jaxlib's classes."""
    if isinstance(members, type):
        cls.__doc__ = members.__doc__
        members = {
            k: v for k, v in vars(members).items() if k not in ("__module__", "__dict__", "__weakref__", "__doc__")
        }
    for name, member in members.items():
        setattr(cls, name, member)


def add_members(function: str, cls: type, described: str, members: Mapping[str, Any]) -> None:
    """Sets members that the class does not have yet.

    Args:
        function: the caller, for the message.
        cls: one of jaxlib's classes.
        described: what the message calls it.
        members: functions, properties or other descriptors by name.

    Raises:
        ValueError: the class already has a member of this name; nothing is set.
    """
    if taken := sorted(name for name in members if name in vars(cls)):
        raise ValueError(f"{function}: {described} already has {', '.join(taken)}")
    set_members(cls, members)
