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
from laminax._src.linen.base import ModuleBase, ModuleState, Transplant, context, map_modules, own_fields
from laminax._src.linen.calls import wrap_method
from laminax._src.linen.fingerprints import Fingerprint
from laminax._src.linen.module import Module
from laminax._src.linen.scope import Scope, Variable


class ModulePlace(NamedTuple):
    """Stands for the module, or the variable of one, of this number among the arguments."""
    number: int


register_pytree_node(ModulePlace, lambda place: ((), place.number), lambda number, _: ModulePlace(number))


def _has_scope(x: Any) -> bool:
    return isinstance(x, (ModuleBase, Variable))


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
        leaves, treedef = tree_flatten((modules, tuple(args), dict(kwargs)), is_leaf=_has_scope)
        self.given: list[Any] = [leaf for leaf in leaves if _has_scope(leaf)]  # modules and variables
        numbers = iter(range(len(self.given)))
        places = [ModulePlace(next(numbers)) if _has_scope(leaf) else leaf for leaf in leaves]
        self.first, self.args, self.kwargs = tree_unflatten(treedef, places)
        self._scope_of: dict[int, int] = {}  # for each module and variable with a scope, by its id, the scope's number
        self._states: dict[int, ModuleState] = {}  # and the state in which each run finds it
        self.scopes: list[Scope] = []
        for thing in self.given:
            self._collect(thing)

    @classmethod
    def of(cls, function: Callable[..., Any], modules: Any, args: Sequence[Any]) -> ModuleCall:
        """The call of a function of modules, or of a bound method in place of one."""
        if inspect.ismethod(function) and isinstance(function.__self__, ModuleBase):
            function = function.__func__
        return cls(wrap_method(function), modules, args, {})

    def _collect(self, thing: Any) -> None:
        """Notes the scope of a module or variable, and those of the modules and variables in a module's fields."""
        if id(thing) in self._scope_of or thing.scope is None:
            return
        if isinstance(thing, ModuleBase):
            thing._try_setup(shallow=True)  # type: ignore[attr-defined]  # a method of Module
            self._states[id(thing)] = thing._state.exported()
        self._scope_of[id(thing)] = len(self.scopes)
        self.scopes.append(thing.scope)
        if isinstance(thing, ModuleBase):
            for name in own_fields(thing):
                _map_fields(self._collect, getattr(thing, name))

    def __call__(self, scopes: Sequence[Scope], *args: Any, **kwargs: Any) -> Any:
        """Calls the function on clones of the modules.

        Args:
          scopes: for each of `self.scopes` the one that is to be used instead.
          *args: arguments like `self.args`.
          **kwargs: arguments like `self.kwargs`.

        Raises:
          TransformedMethodReturnValueError: the function returns a module or a variable.
        """
        clones: dict[int, Any] = {}
        first, args, kwargs = self._filled((self.first, args, kwargs), scopes, clones)
        result = self.function(first, *args, **kwargs)
        leaves, _ = tree_flatten(result, is_leaf=lambda x: isinstance(x, (ModuleBase, Variable)))
        if any(isinstance(leaf, (ModuleBase, Variable)) for leaf in leaves):
            raise errors.TransformedMethodReturnValueError(getattr(self.function, "__name__", "unnamed"))
        for thing in self.given:
            if isinstance(clone := clones.get(id(thing)), Module):
                thing._state.autoname_cursor = dict(clone._state.autoname_cursor)  # the next Dense outside is not Dense_0 again
        return result

    def _filled(self, tree: Any, scopes: Sequence[Scope], clones: dict[int, Any]) -> Any:
        def fill(x: Any) -> Any:
            return self._clone(self.given[x.number], scopes, clones, x.number == 0) if isinstance(x, ModulePlace) else x
        return tree_map(fill, tree, is_leaf=lambda x: isinstance(x, ModulePlace))

    def _clone(self, thing: Any, scopes: Sequence[Scope], clones: dict[int, Any], is_first: bool = False) -> Any:
        """The module or variable with another scope, and what is in a module's fields likewise. Unbound modules stay as they are."""
        if id(thing) not in self._scope_of:
            return thing
        if id(thing) not in clones:
            scope = scopes[self._scope_of[id(thing)]]
            if isinstance(thing, Variable):
                clones[id(thing)] = Variable(scope, thing.collection, thing.name, thing.unbox)
            else:
                fields = {name: _map_fields(lambda inner: self._clone(inner, scopes, clones), getattr(thing, name))
                          for name in own_fields(thing)}
                cls = self.as_class if is_first and self.as_class is not None else type(thing)
                state = self._states[id(thing)].exported()
                clones[id(thing)] = cls(**fields, parent=Transplant(scope, state), name=thing.name)
        return clones[id(thing)]

    @property
    def cursors(self) -> Hashable:
        """How many names each module has given."""
        return tuple(tuple(thing._state.autoname_cursor.items()) for thing in self.given if isinstance(thing, ModuleBase))

    def set_cursors(self, cursors: Any) -> None:
        """Sets what `cursors` gave."""
        modules = [thing for thing in self.given if isinstance(thing, ModuleBase)]
        for module, cursor in zip(modules, cursors):
            module._state.autoname_cursor = dict(cursor)

    def fingerprint(self) -> Hashable:
        """A value that is equal for calls of which one can stand for the other: the same function, equal modules, the same structure."""
        return (self.function, self.as_class, Fingerprint().of((self.first, self.given)),
                context.capture_stack[-1] if context.capture_stack else None, tuple(context.interceptors))


def _map_fields(function: Callable[[Any], Any], value: Any) -> Any:
    """The value of a field with the function's results in place of the modules and of a variable in it."""
    return function(value) if isinstance(value, Variable) else map_modules(lambda _, inner: function(inner), value)


# How functions and classes are lifted.


Transform = Callable[[ModuleCall], Any]  # makes a call, transformed


class MethodOf(NamedTuple):
    """A method of a class, to be called on clones of that class."""
    cls: type[Module]
    name: str


def lift(target: Any, make: Callable[[Callable[..., Any]], Transform], prefix: str, methods: Any = None,
         with_options: Callable[..., Any] | None = None) -> Any:
    """A class whose methods are transformed, or a function of a module that is.

    Args:
      target: a class of modules, a `partial` of one, or a function whose first argument is a module.
      make: gives for each function that is lifted what makes its calls.
      prefix: what the class's name begins with.
      methods: the methods that are transformed, a name or several; by default `__call__`. Or a dict of names and options.
      with_options: the transformation, for methods with options of their own.

    Raises:
      TransformTargetError: the target is neither.
    """
    if isinstance(target, MethodOf):
        return _lifted_function(getattr(target.cls, target.name), make, as_class=target.cls)
    if isinstance(target, functools.partial) and inspect.isclass(target.func):
        return functools.partial(lift(target.func, make, prefix, methods, with_options), *target.args, **target.keywords)
    if inspect.isclass(target) and issubclass(target, Module):
        if isinstance(methods, Mapping) and with_options is not None:
            lifted = {name: with_options(MethodOf(target, name), **options) for name, options in methods.items()}
        else:
            names = ("__call__",) if methods is None else (methods,) if isinstance(methods, str) else tuple(methods)
            lifted = {name: lift(MethodOf(target, name), make, prefix) for name in names}
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
