"""Name stacks: the names around an operation, of scopes and of transformations, and how they read in the compiler's metadata."""

from __future__ import annotations

from typing import Sequence


class Transform(str):
    """The name of a transformation in a name stack, `jvp`: it goes around the name after it, `jvp(layer)`."""

    __slots__ = ()


class Attributes(str):
    """An entry of a name stack that is no name: changes of operations' attributes for the compiler (see `operation_attributes`).

    Its text is different for different changes; None takes an attribute away. `backward` are the changes for the operations that
    transposition makes of those inside, where they are others.
    """

    changes: dict[str, str | None]
    backward: dict[str, str | None] | None

    def __new__(cls, changes: dict[str, str | None], backward: dict[str, str | None] | None = None) -> Attributes:
        others = "" if backward is None else f", backward {sorted(backward.items())!r}"
        self = super().__new__(cls, f"attributes {sorted(changes.items())!r}{others}")
        self.changes, self.backward = changes, backward
        return self


JVP, VMAP, TRANSPOSE = Transform("jvp"), Transform("vmap"), Transform("transpose")


def scope_path(scope: str, name_stack: Sequence[str], operation: str = "") -> str:
    """The name of an operation in the compiler's metadata: `jit(f)/jvp(layer)/sin`.

    Args:
      scope: the calls around the program that it is in, `jit(f)`, or "".
      name_stack: nested names, and transformations of the names inside them.
      operation: the operation's own name.
    """
    path: list[str] = []
    for name in reversed(name_stack):
        if type(name) is Attributes:
            continue
        if type(name) is not Transform:
            path.insert(0, name)
        elif path:
            path[0] = f"{name}({path[0]})"
        else:
            path.append(f"{name}()")
    return "/".join([part for part in (scope, *path, operation) if part])


class NameStack(tuple):
    """Nested names, and transformations of the names inside them; as text, `foo/vmap(bar)`."""

    __slots__ = ()

    def __str__(self) -> str:
        return scope_path("", self)


no_names = NameStack()
