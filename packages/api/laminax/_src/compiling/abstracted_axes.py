"""Names for the sizes of axes: what `abstracted_axes` of `jit` and `make_jaxpr` says.

Each name is a symbolic dimension of 1 or more. A call has types with these dimensions, for which the function is traced, and a number for
each name. A call with a size of 0 is traced by itself, as without names: what holds for sizes of 1 and more need not hold for it.
"""

from __future__ import annotations

import inspect
import re
from functools import cached_property, lru_cache
from typing import Any, Callable, NamedTuple, Sequence

from laminax_ir.pytrees.pytree import broadcast_prefix, keystr, tree_flatten_with_path
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, variable
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
from laminax_ir.types.avals import ShapedArray

from laminax._src.compiling.tracing import Call


class AxisNames(NamedTuple):
    """The names of some axes of an array, as pairs of an axis and its name."""
    axes: tuple[tuple[int, Any], ...]


class NamedCall(NamedTuple):
    """A call: the types that its function is traced for, and the size that each variable in these has in it."""
    avals: list[ShapedArray]
    sizes: tuple[tuple[str, DimSize], ...]


class AbstractedAxes:
    """The names that `abstracted_axes` gives to axes of the positional arguments.

    Args:
      owner: what takes the argument, "jit" or "make_jaxpr", for messages.
      spec: dicts {axis: name} or tuples of names, None for an axis without name: one for all arrays, or a tuple with one for each
        positional argument, which may be a pytree of them.

    Raises:
      TypeError: if something in it is neither.
      ValueError: if two symbolic dimensions among the names belong to different scopes.
    """

    def __init__(self, owner: str, spec: Any) -> None:
        self.owner = owner
        self.spec = spec
        leaves = tree_flatten_with_path(spec, is_leaf=lambda x: x is None or _is_names(x))[0]
        self.names = tuple([_axis_names(owner, keystr(path), leaf) for path, leaf in leaves])
        self._key = owner, self.names, tuple(str(keystr(path)) for path, _ in leaves)
        self._is_for_all = spec is None or _is_names(spec)
        if not self._is_for_all and not isinstance(spec, (tuple, list)):
            raise TypeError(f"{owner}: abstracted_axes must be a dict {{axis: name}} or a tuple of names for all arguments, or a tuple "
                            f"with one of them, or None, for each positional argument; got {spec!r}")
        listed = tuple(dict.fromkeys(name for names in self.names if names for _, name in names.axes))
        self.dimensions: dict[Any, DimSize] = _dimensions(owner, listed)
        self._of_structure: dict[tuple, list[AxisNames | None]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractedAxes) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"AbstractedAxes({self.spec!r})"

    @cached_property
    def _are_variables(self) -> bool:
        """Whether each name is a variable of its own, and not an expression, with nothing more known of it."""
        return all(type(dim) is SymbolicDim and str(dim) in dim.variables() and not dim.scope.has_constraints
                   for dim in self.dimensions.values())

    def of_call(self, title: str, fun: Callable, call: Call, avals: Sequence[ShapedArray]) -> NamedCall | None:
        """What a call is for its function, and the sizes in it; None if no axis has a name, or one has the size 0.

        Args:
          title: the function's name in messages, "jit(f)".
          fun: the function.
          call: its arguments, flat.
          avals: their types.

        Raises:
          ValueError: if the names do not fit the arguments: an axis that there is not, or one name for two sizes.
        """
        key = call.in_tree, call.count, tuple([i for i, _ in call.static_args])
        of_leaves = self._of_structure.get(key)
        if of_leaves is None:
            of_leaves = self._of_structure[key] = self._matched(title, fun, call)
        if not any(of_leaves):
            return None
        general, places = list(avals), []
        for i, names in enumerate(of_leaves):
            if names is None:
                continue
            aval = avals[i]
            shape: list[Any] = list(aval.shape)
            for axis, name in names.axes:
                if not -aval.ndim <= axis < aval.ndim:
                    raise ValueError(f"{title}: abstracted_axes names axis {axis} of {call.namer(fun)(i)} {name!r}, and "
                                     f"{call.namer(fun)(i)} is {aval.str_short()}, with {aval.ndim} axes. Name axes that all arrays "
                                     "have for which it speaks, and give None for the other arguments.")
                size = shape[axis % aval.ndim] = self.dimensions[name]
                places.append((i, axis % aval.ndim, name, size))
            general[i] = aval.update(shape=tuple(shape))
        sizes = self._sizes(title, call.namer(fun), avals, places) if self._are_variables else ()
        if any(type(size := avals[i].shape[axis]) is not SymbolicDim and size == 0 for i, axis, _, _ in places):
            return None
        if self._are_variables:
            return NamedCall(general, sizes)
        called = [call.namer(fun)(i) for i in range(len(general))]
        try:
            found = ShapeSpecification(general, called).solve([aval.shape for aval in avals])
        except ValueError as error:
            raise ValueError(f"{title}: the arguments do not have the sizes that abstracted_axes says. {error}") from None
        return NamedCall(general, tuple(sorted(found.items())))

    def _sizes(self, title: str, namer: Callable[[int], str], avals: Sequence[ShapedArray],
               places: Sequence[tuple[int, int, Any, DimSize]]) -> tuple[tuple[str, DimSize], ...]:
        """The size of each variable, from the arguments."""
        found: dict[str, tuple[DimSize, int, int]] = {}
        for i, axis, name, dim in places:
            size = avals[i].shape[axis]
            first = found.setdefault(str(dim), (size, i, axis))
            if first[0] != size:
                lines = [f"  {namer(j)}, {avals[j].str_short()}, axis {a}: size {s}" for s, j, a in (first, (size, i, axis))]
                raise ValueError("\n".join([
                    f"{title}: abstracted_axes gives the name {name!r} to axes of different sizes, {first[0]} and {size}.", *lines,
                    "Make the sizes equal, or give the axes different names."]))
        return tuple(sorted((name, size) for name, (size, _, _) in found.items()))

    def _matched(self, title: str, fun: Callable, call: Call) -> list[AxisNames | None]:
        """The names for each leaf of a call of some structure."""
        args, kwargs = call.in_tree.children()
        static = {i for i, _ in call.static_args}
        positions = [i for i in range(call.count) if i not in static]
        if self._is_for_all:
            return [self.names[0] if self.names else None] * call.in_tree.num_leaves
        if len(self.spec) < (needed := max((i + 1 for i in positions), default=0)):
            raise ValueError(f"{title}: abstracted_axes has {len(self.spec)} entries, and the function was called with {needed} positional "
                             "arguments. Give an entry for each, static ones included; None names no axis.")
        given: list[tuple[int | None, Any]] = [*zip(positions, args.children())]
        node = kwargs.node_data()
        parameters = _parameters(fun)
        given += [(parameters.get(name), tree) for name, tree in zip(() if node is None else node[1], kwargs.children())]
        found: list[AxisNames | None] = []
        for position, tree in given:
            if position is None or position >= len(self.spec):
                found += [None] * tree.num_leaves
                continue
            try:
                leaves = broadcast_prefix(self.spec[position], tree.unflatten(range(tree.num_leaves)),
                                          is_leaf=lambda x: x is None or _is_names(x))
            except ValueError as error:
                raise ValueError(f"{title}: abstracted_axes[{position}] is no prefix of that argument: {error}") from None
            found += [None if leaf is None else _axis_names(self.owner, f"[{position}]", leaf) for leaf in leaves]
        return found + [None] * (call.in_tree.num_leaves - len(found))


def _parameters(fun: Callable) -> dict[str, int]:
    """The positions of a function's parameters by name."""
    try:
        return {p.name: i for i, p in enumerate(inspect.signature(fun).parameters.values()) if p.kind is p.POSITIONAL_OR_KEYWORD}
    except (TypeError, ValueError):
        return {}


def _is_names(x: Any) -> bool:
    """Whether a node names axes: a dict by numbers of axes, or a tuple by their order; containers of such do not."""
    if type(x) is dict:
        return all(type(key) is int and _is_name(value) for key, value in x.items())
    return type(x) is tuple and all(item is None or _is_name(item) for item in x)


def _is_name(x: Any) -> bool:
    return x is not None and not isinstance(x, (dict, tuple, list, set))


def _axis_names(owner: str, place: str, leaf: Any) -> AxisNames | None:
    """The names in a leaf of `abstracted_axes`; None where there are none."""
    if leaf is None:
        return None
    if not _is_names(leaf):
        raise TypeError(f"{owner}: abstracted_axes{place} must be a dict {{axis: name}}, a tuple of names and None, or None; got {leaf!r}")
    pairs = leaf.items() if isinstance(leaf, dict) else enumerate(leaf)
    found = tuple([(axis, name) for axis, name in pairs if name is not None])
    for _, name in found:
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"{owner}: a name in abstracted_axes{place} must be hashable, got {name!r} of type "
                            f"{type(name).__name__}") from None
    return AxisNames(found) if found else None


@lru_cache(maxsize=1024)  # equal names are equal dimensions, so that a function that is jitted again finds its traces
def _dimensions(owner: str, names: tuple[Any, ...]) -> dict[Any, DimSize]:
    """The symbolic dimension of each name, all of one scope; a name that is a dimension stands for itself."""
    given = [name for name in names if type(name) is SymbolicDim]
    scope = given[0].scope if given else SymbolicScope()
    for dim in given:
        scope.check_same(dim.scope, f"in abstracted_axes of {owner}", str(dim))
    taken = {variable for dim in given for variable in dim.variables()}
    found: dict[Any, DimSize] = {}
    for name in names:
        if type(name) is SymbolicDim:
            found[name] = name
            continue
        text = wanted = _variable_name(name)
        count = 1
        while text in taken:
            count += 1
            text = f"{wanted}_{count}"
        taken.add(text)
        found[name] = variable(text, scope)
    return found


def _variable_name(name: Any) -> str:
    """What a name is called in types: the name itself where it is an identifier."""
    text = name if isinstance(name, str) else f"{type(name).__name__}_{name}"
    text = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{text}" if not text[:1].isalpha() and text[:1] != "_" or text in ("floordiv", "mod", "max", "min") else text
