"""`init` and `apply` of functions of a module: the module gets a scope of the given variables, and the function is called on it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, Mapping, Union

from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten

from laminax._src.linen import errors
from laminax._src.linen.base import ModuleBase, context
from laminax._src.linen.filters import DenyList, Filter, names_of
from laminax._src.linen.independent import Dependent, without_arguments
from laminax._src.linen.scope import Scope
from laminax._src.numerics.random import keys as random_keys

if TYPE_CHECKING:
    from laminax._src.linen.module import Module

Captured = Union[bool, Callable[["Module", str], bool]]


def is_key(x: Any) -> bool:
    """Whether x is a random key, typed or of two words."""
    if random_keys.is_typed(x):
        return x.shape == ()
    return getattr(x, "shape", None) is not None and getattr(x, "dtype", None) is not None and x.ndim == 1 and x.dtype.name == "uint32"


def _is_rngs(rngs: Any) -> bool:
    return isinstance(rngs, Mapping) and all(isinstance(name, str) and is_key(key) for name, key in rngs.items())


def method_of(module: Module, method: Callable[..., Any] | str | None) -> Callable[..., Any]:
    """The function of a module that `method` means: the method of that name, or the function itself.

    Raises:
      TypeError: there is something of that name, which cannot be called.
      ApplyModuleInvalidMethodError: it is no function, or has no argument for the module.
    """
    if method is None:
        method = "__call__"
    if isinstance(method, str):
        name = method
        method = getattr(module, name)
        if not callable(method):
            raise TypeError(f"'{type(module).__name__}.{name}' must be a callable, got {type(method)}.")
        if isinstance(method, ModuleBase):
            return lambda module, *args, **kwargs: getattr(module, name)(*args, **kwargs)
    function = method.__func__ if inspect.ismethod(method) else method
    if not callable(function) or not _takes_an_argument(function):
        raise errors.ApplyModuleInvalidMethodError(method)
    return function


def _takes_an_argument(function: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except ValueError:  # builtins without a signature
        return True


def capture_call_intermediates(_module: Any, method_name: str) -> bool:
    """What `capture_intermediates=True` captures: results of `__call__`."""
    return method_name == "__call__"


def bound_scope(variables: Any, rngs: Any, mutable: Filter, flags: Mapping[str, Any] | None = None) -> Scope:
    """The root of the given variables.

    Raises:
      ApplyScopeInvalidVariablesTypeError, ApplyScopeInvalidVariablesStructureError: they are no dict of collections.
      ValueError: `rngs` are no keys by stream.
    """
    is_tree = isinstance(variables, Mapping)
    if not is_tree or not all(isinstance(name, str) and isinstance(tree, Mapping) for name, tree in variables.items()):
        raise errors.ApplyScopeInvalidVariablesTypeError()
    if "params" in variables.get("params", ()):
        raise errors.ApplyScopeInvalidVariablesStructureError(variables)
    if rngs is not None and not isinstance(rngs, Mapping) and is_key(rngs):
        rngs = {"params": rngs}
    if rngs is not None and not _is_rngs(rngs):
        raise ValueError("The ``rngs`` argument passed to an apply function should be a ``jax.PRNGKey`` or a dictionary mapping strings to "
                         f"``jax.PRNGKey``, got {rngs!r}.")
    return Scope(variables, rngs, mutable=mutable, flags=flags)


def apply(
    fn: Callable[..., Any], module: Module, mutable: Filter = False, capture_intermediates: Captured = False
) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of the variables: `apply(fn, module)(variables, *args, rngs=...)`.

    Args:
      fn: a function whose first argument is the module.
      module: the module.
      mutable: the collections that it may change.
      capture_intermediates: as in `Module.apply`.

    Returns:
      A function that returns fn's result, and with `mutable` the mutable collections beside it.
    """
    def applied(variables: Mapping[str, Any], *args: Any, rngs: Any = None, **kwargs: Any) -> Any:
        return _run(fn, module, variables, rngs, mutable, capture_intermediates, {}, args, kwargs)
    return applied


def init_with_output(
    fn: Callable[..., Any], module: Module, mutable: Filter = DenyList("intermediates"), capture_intermediates: Captured = False
) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of keys: `init_with_output(fn, module)(rngs, *args)` gives its result and the variables."""
    def initialized(rngs: Any, *args: Any, **kwargs: Any) -> Any:
        if is_key(rngs):
            rngs = {"params": rngs}
        if not _is_rngs(rngs):
            raise ValueError("First argument passed to an init function should be a ``jax.PRNGKey`` or a dictionary mapping strings to "
                             f"``jax.PRNGKey``, got {rngs!r}.")
        return _run(fn, module, {}, rngs, mutable, capture_intermediates, {"initializing": True}, args, kwargs)
    return initialized


def init(
    fn: Callable[..., Any], module: Module, mutable: Filter = DenyList("intermediates"), capture_intermediates: Captured = False
) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of keys: `init(fn, module)(rngs, *args)` gives the variables."""
    with_output = init_with_output(fn, module, mutable, capture_intermediates)
    return lambda rngs, *args, **kwargs: with_output(rngs, *args, **kwargs)[1]


def _run(
    fn: Callable[..., Any], module: Module, variables: Any, rngs: Any, mutable: Filter, captured: Any, flags: Mapping[str, Any],
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:
    if captured is True:
        captured = capture_call_intermediates
    names = names_of(mutable)
    root = bound_scope(variables, rngs, names | names_of("intermediates") if captured else names, flags)
    context.capture_stack.append(captured)
    try:
        result = fn(module.clone(parent=root, _deep_clone=True), *args, **kwargs)
        return (result, root.mutable_variables()) if root.store.mutable else result
    finally:
        context.capture_stack.pop()
        root.close()


def lazy_init(fn: Callable[..., Any], module: Module, mutable: Filter = DenyList("intermediates")) -> Callable[..., dict[str, Any]]:
    """`init` that computes nothing with the arguments: of arrays among them, or `ShapeDtypeStruct`s, only types are known."""
    def initialized(rngs: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        leaves, treedef = tree_flatten((args, kwargs))
        traced = [i for i, leaf in enumerate(leaves) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]

        def of_arrays(*arrays: Any) -> Any:
            values = dict(zip(traced, arrays))
            args, kwargs = tree_unflatten(treedef, [values.get(i, leaf) for i, leaf in enumerate(leaves)])
            return init(fn, module, mutable)(rngs, *args, **kwargs)

        try:
            return without_arguments(of_arrays, *(leaves[i] for i in traced))
        except Dependent as error:
            raise errors.LazyInitError(error.aval) from None
    return initialized


def share_scope(module: Module, other: Module, /) -> None:
    """Has two modules use the same place among the variables, so that one adds variables to those of the other.

    Call it in `setup`. If the second is a submodule of the first, both use the first one's place; else both use the second one's.

    Args:
      module: the module that is being set up.
      other: the module that it shares its place with.

    Raises:
      CallShareScopeOnUnboundModuleError: one of them has no variables.

    Example:
      >>> class LoRA(nn.Module):                         # doctest: +SKIP
      ...     inner: nn.Dense
      ...     def setup(self):
      ...         nn.share_scope(self, self.inner)
    """
    own, others = module.scope, other.scope
    if own is None or others is None:
        raise errors.CallShareScopeOnUnboundModuleError()
    if others.store is own.store and others.within[:len(own.within)] == own.within:
        _move(other, own)
    else:
        object.__setattr__(module, "scope", others)


def _move(module: Any, scope: Scope) -> None:
    """Gives a module another scope, and its submodules scopes below it."""
    object.__setattr__(module, "scope", scope)
    for name, child in module._state.children.items():
        if isinstance(child, ModuleBase):
            _move(child, scope.push(name, reuse=True))


def merge_param(name: str, a: Any, b: Any) -> Any:
    """The one of two values that is not None: that of a field, or that of a call's argument.

    Raises:
      ValueError: both are None, or neither is.
    """
    if a is None and b is None:
        raise ValueError(f'Parameter "{name}" must be passed to the constructor or at call time.')
    if a is not None and b is not None:
        raise ValueError(f'Parameter "{name}" was passed to the constructor and at call time. Should be passed just once.')
    return b if a is None else a
