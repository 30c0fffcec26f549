"""Calls with modules among the arguments, as functions of scopes and of arguments that are pytrees of arrays.

A lifted transformation hands a function arrays. `ModuleCall` takes the modules out of the arguments of a call, leaves a `ModulePlace`
at the place of each, which is a pytree without leaves, and collects the scopes that the modules use. Called with other scopes and
arguments, it makes clones of the modules with these scopes, puts them in their places, and calls the function.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Hashable, Mapping, NamedTuple, Sequence

from laminax_ir.pytrees.pytree import register_pytree_node, tree_flatten, tree_map, tree_unflatten

from laminax._src.linen import errors
from laminax._src.linen.base import ModuleBase, ModuleState, context, map_modules, own_fields
from laminax._src.linen.calls import wrap_method
from laminax._src.linen.fingerprints import Fingerprint
from laminax._src.linen.module import Module
from laminax._src.linen.scope import Scope, Variable


class ModulePlace(NamedTuple):
    """Stands for the module of this number among the arguments."""
    number: int


register_pytree_node(ModulePlace, lambda place: ((), place.number), lambda number, _: ModulePlace(number))


class Transplant(NamedTuple):
    """The parent of a clone within a lifted transformation: the scope that it gets, and the state that it takes over."""
    scope: Scope
    state: ModuleState

    def transplanted(self, clone: Any) -> None:
        """Binds the clone, whose fields have scopes already."""
        self.state.fields_registered = self.state.is_initialized = True
        for name, value in (("parent", self.scope), ("scope", self.scope), ("_state", self.state)):
            object.__setattr__(clone, name, value)


def _is_module(x: Any) -> bool:
    return isinstance(x, ModuleBase)


class ModuleCall:
    """A call of a function of modules, as a function of scopes.

    Args:
      function: takes a module first, or a tree of them; wrapped, if it is a method.
      modules: the first argument.
      args: the others, which may hold modules too.
      kwargs: likewise.
      as_class: the class of the clone of the module, if it is another: that which a lifted class was made of.

    Attributes:
      scopes: the scopes of all modules and of those in their fields, each once.
      args: the arguments with `ModulePlace`s for modules.
      kwargs: likewise.
    """

    def __init__(self, function: Callable[..., Any], modules: Any, args: Sequence[Any], kwargs: Mapping[str, Any],
                 as_class: type | None = None) -> None:
        self.function = function
        self.as_class = as_class
        leaves, treedef = tree_flatten((modules, tuple(args), dict(kwargs)), is_leaf=_is_module)
        self.modules: list[Module] = [leaf for leaf in leaves if _is_module(leaf)]
        numbers = iter(range(len(self.modules)))
        places = [ModulePlace(next(numbers)) if _is_module(leaf) else leaf for leaf in leaves]
        self.first, self.args, self.kwargs = tree_unflatten(treedef, places)
        self._scope_of: dict[int, int] = {}  # for each bound module, by its id, the number of its scope
        self.scopes: list[Scope] = []
        for module in self.modules:
            self._collect(module)
        self.clones: dict[int, Module] = {}

    @classmethod
    def of(cls, function: Callable[..., Any], modules: Any, args: Sequence[Any]) -> ModuleCall:
        """The call of a function of modules that is no method."""
        return cls(wrap_method(function), modules, args, {})

    def _collect(self, module: Any) -> None:
        if id(module) in self._scope_of or module.scope is None:
            return
        module._try_setup(shallow=True)
        self._scope_of[id(module)] = len(self.scopes)
        self.scopes.append(module.scope)
        for name in own_fields(module):
            map_modules(lambda _, inner: self._collect(inner), getattr(module, name))

    def __call__(self, scopes: Sequence[Scope], *args: Any, **kwargs: Any) -> Any:
        """Calls the function on clones of the modules.

        Args:
          scopes: for each of `self.scopes` the one that is to be used instead.
          *args: arguments like `self.args`.
          **kwargs: arguments like `self.kwargs`.

        Raises:
          TransformedMethodReturnValueError: the function returns a module or a variable.
        """
        clones: dict[int, Module] = {}
        first, args, kwargs = self._filled((self.first, args, kwargs), scopes, clones)
        result = self.function(first, *args, **kwargs)
        leaves, _ = tree_flatten(result, is_leaf=lambda x: isinstance(x, (ModuleBase, Variable)))
        if any(isinstance(leaf, (ModuleBase, Variable)) for leaf in leaves):
            raise errors.TransformedMethodReturnValueError(getattr(self.function, "__name__", "unnamed"))
        for module in self.modules:
            if (clone := clones.get(id(module))) is not None:
                module._state.autoname_cursor = dict(clone._state.autoname_cursor)  # the next Dense outside is not Dense_0 again
        return result

    def _filled(self, tree: Any, scopes: Sequence[Scope], clones: dict[int, Module]) -> Any:
        def fill(x: Any) -> Any:
            return self._clone(self.modules[x.number], scopes, clones, x.number == 0) if isinstance(x, ModulePlace) else x
        return tree_map(fill, tree, is_leaf=lambda x: isinstance(x, ModulePlace))

    def _clone(self, module: Any, scopes: Sequence[Scope], clones: dict[int, Module], is_first: bool = False) -> Any:
        """The module with another scope, and the modules in its fields likewise. Unbound modules stay as they are."""
        if id(module) not in self._scope_of:
            return module
        if id(module) not in clones:
            fields = {name: map_modules(lambda _, inner: self._clone(inner, scopes, clones), getattr(module, name))
                      for name in own_fields(module)}
            cls = self.as_class if is_first and self.as_class is not None else type(module)
            transplant = Transplant(scopes[self._scope_of[id(module)]], module._state.exported())
            clones[id(module)] = cls(**fields, parent=transplant, name=module.name)
        return clones[id(module)]

    @property
    def cursors(self) -> Hashable:
        """How many names each module has given."""
        return tuple(tuple(module._state.autoname_cursor.items()) for module in self.modules)

    def set_cursors(self, cursors: Any) -> None:
        """Sets what `cursors` gave."""
        for module, cursor in zip(self.modules, cursors):
            module._state.autoname_cursor = dict(cursor)

    def fingerprint(self) -> Hashable:
        """A value that is equal for calls of which one can stand for the other: the same function, equal modules, the same structure."""
        return (self.function, self.as_class, Fingerprint().of((self.first, self.modules)),
                context.capture_stack[-1] if context.capture_stack else None, tuple(context.interceptors))


# How functions and classes are lifted.


Transform = Callable[[ModuleCall], Any]  # makes a call, transformed


def lift(target: Any, make: Callable[[Callable[..., Any]], Transform], prefix: str, methods: Any = None) -> Any:
    """A class whose methods are transformed, or a function of a module that is.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      make: gives for each function that is lifted what makes its calls.
      prefix: what the class's name begins with.
      methods: the methods that are transformed, a name or several; by default `__call__`.

    Raises:
      TransformTargetError: the target is neither.
    """
    if inspect.isclass(target) and issubclass(target, Module):
        names = ("__call__",) if methods is None else (methods,) if isinstance(methods, str) else tuple(methods)
        lifted = {name: _lifted_function(getattr(target, name), make, as_class=target) for name in names}
        return type(prefix + target.__name__, (target,), {**lifted, "__module__": target.__module__, "__doc__": target.__doc__})
    if callable(target) and not isinstance(target, Module):
        return _lifted_function(target, make)
    raise errors.TransformTargetError(target)


def _lifted_function(
    function: Callable[..., Any], make: Callable[[Callable[..., Any]], Transform], as_class: type | None = None
) -> Callable[..., Any]:
    function = wrap_method(function)
    transform = make(function)

    @functools.wraps(function)
    def lifted(modules: Any, *args: Any, **kwargs: Any) -> Any:
        return transform(ModuleCall(function, modules, args, kwargs, as_class))

    lifted.is_wrapped_method = True  # type: ignore[attr-defined]  # what belongs to a call happens to the clone
    return lifted
