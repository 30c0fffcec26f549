"""`checkpoint`: functions whose intermediate values are computed again for differentiation, not kept."""

from __future__ import annotations

import operator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence, cast
from weakref import WeakKeyDictionary

from laminax_ir.ops.calls import bind_checkpoint, close_over_constants, name_p
from laminax_ir.options import ambient
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Literal, Var
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_map, tree_structure, tree_unflatten
from laminax_ir.pytrees.wrapping import alias, wraps
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagingTrace
from laminax_ir.refs.refs import check_aliases, check_returned, is_traced
from laminax_ir.tracing.trace import Tracer, at_work, current_trace, eval_trace, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_transforms.base.flat_functions import check_array_leaves
from laminax_transforms.differentiation.nonzero_flags import flags_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def checkpoint(fun: Callable[..., Any] | None = None, concrete: bool = False, prevent_cse: bool | Sequence[bool] = True,
               policy: Callable[..., Any] | None = None, static_argnums: int | Sequence[int] = (),
               static_argnames: str | Iterable[str] = ()) -> Callable[..., Any]:
    """Makes a function recompute its intermediate values when it is differentiated, instead of keeping them.

    By default, reverse-mode differentiation keeps every value that a derivative needs from the forward pass to the backward
    pass. Of a checkpointed function it keeps the inputs, and runs the function again on the backward pass: less memory for
    more computation. Checkpointed functions may be nested. The function is always traced: Python control flow in it depends
    on static arguments only, unless `concrete` is given.

    Args:
      fun: function of arrays, scalars and containers of them. May be left out, to give options in a decorator.
      concrete: whether Python control flow in `fun` may depend on the values of its arguments. The values must then be known
        at the call, which cannot be inside of a jit.
      prevent_cse: whether the compiler is kept from merging the recomputation with the first computation, which would
        defeat the purpose. Unnecessary inside of a scan. A sequence has a flag for each positional argument that is traced, or a
        tree prefix of it with flags: for arguments with False the compiler may use in the recomputation what it knows of them.
      policy: which intermediate values to keep after all, `policy(primitive, *avals, **params) -> bool` for the operation
        that computes one; `checkpoint_policies` has many. By default none.
      static_argnums: positions of arguments that are not traced: hashable Python values.
      static_argnames: names of such keyword arguments.

    Returns:
      A function with the same arguments and results.

    Raises:
      TypeError: if `fun` or `policy` is not callable, or a flag is not a bool.

    Example:
      >>> @checkpoint
      ... def g(x):
      ...     return jnp.sin(jnp.sin(x))
      >>> grad(g)(2.0)  # computes sin(2.0) twice
      -0.25563914
    """
    if fun is None:
        return partial(checkpoint, concrete=concrete, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums,
                       static_argnames=static_argnames)
    check_callable("checkpoint", fun)
    if not isinstance(concrete, bool):
        raise TypeError(f"checkpoint: concrete must be a bool, got {concrete!r}")
    if isinstance(prevent_cse, (tuple, list)):
        prevent_cse = tuple(prevent_cse)
    elif not isinstance(prevent_cse, bool):
        raise TypeError(f"checkpoint: prevent_cse must be a bool or a tuple of bools, one per traced argument, got {prevent_cse!r}")
    if policy is not None and not callable(policy):
        raise TypeError(f"checkpoint: policy must be a callable, such as those of checkpoint_policies, got {policy!r}")
    argnums = _argnums(static_argnums)
    argnames = _argnames(static_argnames)
    trace = _trace_with_values if concrete else _trace_cached

    @api_boundary
    @wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if concrete and state.trace is eval_trace:
            return fun(*args, **kwargs)
        call = _Call(fun, args, kwargs, argnums, argnames)
        program, consts, out_tree = trace(call)
        if program.effects and has_refs(program.effects):
            check_aliases(function_name(fun), "checkpoint / remat", call.leaves, consts, str)
        fences = (False,) * len(consts) + call.flags(prevent_cse) if isinstance(prevent_cse, tuple) else prevent_cse
        results = bind_checkpoint(program, *consts, *call.leaves, name=function_name(fun), prevent_cse=fences, policy=policy)
        return tree_unflatten(out_tree, results)

    return checkpointed


remat = alias(checkpoint, "remat")


def _argnums(given: Any) -> tuple[int, ...]:
    numbers = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    try:
        return tuple(map(operator.index, numbers))
    except TypeError:
        raise TypeError(
            f"checkpoint: static_argnums must be an int or a sequence of ints, the positions of arguments; got {given!r}") from None


def _argnames(given: Any) -> frozenset[str]:
    names = frozenset((given,) if isinstance(given, str) or not isinstance(given, Iterable) else given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"checkpoint: static_argnames must be a string or a sequence of strings, the names of arguments; got {given!r}")
    return names


class _Call:
    """One call of a checkpointed function: its traced leaves and its static values."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any], argnums: tuple[int, ...],
                 argnames: frozenset[str]) -> None:
        for i in argnums:
            if not -len(args) <= i < len(args):
                raise ValueError(f"checkpoint({function_name(fun)}): static_argnums={argnums} needs at least {max(i + 1, -i)} positional "
                                 f"arguments, but it was called with {len(args)}")
        self.fun = fun
        self.static = {i % len(args): args[i % len(args)] for i in argnums}
        self.static_kwargs = {k: v for k, v in kwargs.items() if k in argnames}
        self.count = len(args)
        dynamic = [x for i, x in enumerate(args) if i not in self.static]
        self.traced = (dynamic, {k: v for k, v in kwargs.items() if k not in argnames})
        self.leaves, self.in_tree = tree_flatten(self.traced)
        if not all(map(is_array_like, self.leaves)):
            check_array_leaves(f"checkpoint({function_name(fun)}): argument ", self.traced)
        self.avals = [get_aval(x) for x in self.leaves]
        self.out_tree: Any = None  # known once it was called

    def run(self, *leaves: Any) -> list[Any]:
        """Calls the function on other leaves; remembers the structure of the result."""
        dynamic, kwargs = tree_unflatten(self.in_tree, leaves)
        found = iter(dynamic)
        args = [self.static[i] if i in self.static else next(found) for i in range(self.count)]
        result = self.fun(*args, **kwargs, **self.static_kwargs)
        flat, self.out_tree = tree_flatten(result)
        if not all(map(is_array_like, flat)):
            check_returned(function_name(self.fun), "checkpoint / remat", result)
            check_array_leaves(f"checkpoint: the result of {function_name(self.fun)}", result)
        return flat

    def flags(self, prevent_cse: tuple[Any, ...]) -> tuple[bool, ...]:
        """One flag per leaf, from those for the traced arguments."""
        args, kwargs = self.traced
        traced = (tuple(args), kwargs) if kwargs else tuple(args)
        try:
            flags = tuple(broadcast_prefix(prevent_cse, traced))
        except ValueError as error:
            with suppress(ValueError):  # tuples may stand for containers of so many children
                return tuple(flags_of(prevent_cse, tree_structure(traced), "prevent_cse", "prevent_cse"))
            raise ValueError(f"checkpoint({function_name(self.fun)}): prevent_cse={prevent_cse} must be a tree prefix of the traced "
                             f"arguments. {error}") from None
        if not all(isinstance(flag, bool) for flag in flags):
            raise TypeError(f"checkpoint({function_name(self.fun)}): prevent_cse must be a bool or a tuple of bools, got {prevent_cse}")
        return flags

    def key(self) -> tuple[Any, ...]:
        static = tuple((k, type(v), v) for k, v in [*self.static.items(), *sorted(self.static_kwargs.items())])
        return self.in_tree, tuple(self.avals), self.count, static, ambient.trace_key(), tuple(state.axis_sizes.items())


_Traced = tuple[ClosedJaxpr, list[Any], Any]
_programs: WeakKeyDictionary[Callable[..., Any], dict[tuple[Any, ...], _Traced]] = WeakKeyDictionary()


def _trace_cached(call: _Call) -> _Traced:
    """The function's program, its constants and the structure of its result; traced once per argument types if it closes over no tracer."""
    try:
        known = _programs.setdefault(call.fun, {})
        key = call.key()
        found = known.get(key)
    except TypeError:  # the function cannot be held weakly, or a static value cannot be hashed
        known, key, found = {}, None, None
    if found is None:
        program, consts = close_over_constants(stage(call.run, call.avals, function_name(call.fun), keeps_refs=True))
        found = program, consts, call.out_tree
        if key is not None and not any(map(is_traced, consts)):
            known[key] = found
    return found


class _ConcreteStagingTrace(StagingTrace):
    """Records operations, and computes the values of those whose operands are known."""

    __slots__ = ("values",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.values: dict[Var, Any] = {}

    def value_of(self, var: Var | Literal) -> Any:
        return self.values.get(cast(Var, var))

    def constant(self, value: Any) -> Any:
        return value

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        result = super().process(primitive, operands, params)
        known = [_known_value(x) for x in operands]
        if all(x is not None for x in known):
            with current_trace(eval_trace):
                values = primitive.bind(*known, **params)
            tracers = result if primitive.multiple_results else [result]
            self.values.update((t.variable, v) for t, v in zip(tracers, values if primitive.multiple_results else [values]))
        return result


def _known_value(x: ArrayLike) -> Any | None:
    return x.concrete_value() if isinstance(x, Tracer) else x


def _trace_with_values(call: _Call) -> _Traced:
    """Like `_trace_cached`, but the function knows the values of its arguments."""
    trace = _ConcreteStagingTrace(function_name(call.fun))
    with at_work(trace):
        inputs = [trace.new_input(aval) for aval in call.avals]
        trace.values.update((t.variable, v) for t, v in zip(inputs, map(_known_value, call.leaves)) if v is not None)
        closed = trace.finish(call.run(*inputs))
    return *close_over_constants(closed), call.out_tree


def checkpoint_name(x: Any, name: str) -> Any:
    """Names values, for the policies of `checkpoint` that go by names; otherwise the identity.

    Args:
      x: an array or a pytree of them.
      name: the name.

    Raises:
      TypeError: if the name is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: the name must be a string, got {name!r}")
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)
