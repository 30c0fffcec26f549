"""How modules print: their fields, and the submodules and variables that they have."""

from __future__ import annotations

from typing import Any

from laminax._src.linen.base import ModuleBase, own_fields


def module_repr(module: ModuleBase, indent: int = 4) -> str:
    """The module on several lines, `Dense(\\n    # attributes\\n    features = 3\\n ...)`. Nothing is set up for it."""
    if "_state" not in module.__dict__:
        return f"{type(module).__name__}(...)"
    fields = {name: module.__dict__[name] for name in own_fields(module) if name in module.__dict__}
    children = {name: child for name, child in module._state.children.items() if isinstance(child, ModuleBase)}
    lines: list[str] = []
    if fields:
        lines += ["# attributes", *(f"{name} = {_value_repr(value)}" for name, value in fields.items() if name not in children)]
    if children:
        lines += ["# children", *(f"{name} = {_value_repr(child)}" for name, child in children.items())]
    if not lines:
        return f"{type(module).__name__}()"
    body = "\n".join(lines).replace("\n", "\n" + " " * indent)
    return f"{type(module).__name__}(\n{' ' * indent}{body}\n)"


def _value_repr(value: Any) -> str:
    return value.__name__ if callable(value) and hasattr(value, "__name__") else repr(value)
