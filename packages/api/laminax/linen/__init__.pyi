# Written by tools/stubs.py.
"""Modules of neural networks, as Flax's `linen` has them. A table of contents: names load on first use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from laminax._src.linen.calls import F
from laminax._src.linen.filters import Filter
from laminax._src.linen.functional import Captured
from laminax._src.linen.lifted_loops import Broadcast
from laminax._src.linen.module import Module as _Module
from typing import Any
from laminax._src.linen.filters import DenyList as DenyList
from laminax._src.linen.frozen_dict import FrozenDict as FrozenDict
from laminax._src.linen.lifting import In as In
from laminax._src.linen.lifting import Out as Out
from laminax._src.linen.module import Module as Module
from laminax._src.linen.scope import Variable as Variable

__all__: list[str]

def add_metadata_axis(target: Any, variable_axes: Mapping[Filter, Any] = ..., metadata_params: Mapping[Any, Any] = ...) -> Any:
    """Tells the boxes of variables of an axis that the module does not know of, as `vmap` does for the one that it adds."""
def apply(fn: Callable[..., Any], module: _Module, mutable: Filter = False, capture_intermediates: Captured = False) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of the variables: `apply(fn, module)(variables, *args, rngs=...)`."""
broadcast: Broadcast
def checkpoint(
    target: Any,
    variables: Filter = True,
    rngs: Filter = True,
    concrete: bool = False,
    prevent_cse: bool = True,
    static_argnums: int | Iterable[int] = ...,
    policy: Callable[..., bool] | None = None,
    methods: Any = None,
) -> Any:
    """Lifted version of `laminax.checkpoint`: methods whose intermediate values are computed again for derivatives, and not kept."""
def compact(fun: F) -> F:
    """Marks a method in which submodules and parameters are made where they are used. A class has at most one."""
def compact_name_scope(fun: F) -> F:
    """Marks a compact method whose submodules and variables lie below its own name, so that a class may have several."""
def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    mdl: Any,
    *operands: Any,
    variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.lax.cond`: one of two functions of a module, chosen by a scalar that may be traced."""
def custom_vjp(
    fn: Callable[..., Any],
    forward_fn: Callable[..., Any],
    backward_fn: Callable[..., Any],
    grad_vars: Filter = 'params',
    nondiff_argnums: Sequence[int] = ...,
) -> Callable[..., Any]:
    """Lifted version of `laminax.custom_vjp`: a function of a module with a reverse rule of its own."""
def disable_named_call() -> None:
    """Leaves the names of modules out of profiles and programs."""
def enable_named_call() -> None:
    """Has methods' operations named after their modules in profiles and programs, as is the default."""
def fold_rngs(target: Any, variables: Filter = True, rngs: Filter = True) -> Any:
    """Has a module draw its random keys from new streams, as `jit` does, without compiling it."""
def grad(
    fn: Callable[..., Any],
    mdl: Any,
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = ...,
    variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.grad`: the gradients of a function of a module by the other arguments, a tuple of them."""
def init(fn: Callable[..., Any], module: _Module, mutable: Filter = ..., capture_intermediates: Captured = False) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of keys: `init(fn, module)(rngs, *args)` gives the variables."""
def init_with_output(
    fn: Callable[..., Any],
    module: _Module,
    mutable: Filter = ...,
    capture_intermediates: Captured = False,
) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of keys: `init_with_output(fn, module)(rngs, *args)` gives its result and the variables."""
def intercept_methods(interceptor: Callable[..., Any]) -> Iterator[None]:
    """A context in which calls of methods go through `interceptor(next_function, args, kwargs, context)`, the innermost first."""
def jit(
    target: Any,
    variables: Filter = True,
    rngs: Filter = True,
    static_argnums: int | Iterable[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    donate_argnums: int | Iterable[int] = ...,
    device: Any = None,
    backend: str | None = None,
    methods: Any = None,
) -> Any:
    """Lifted version of `laminax.jit`: methods of a module that are compiled."""
def jvp(
    fn: Callable[..., Any],
    mdl: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    variable_tangents: Mapping[str, Any],
    variables: Filter = True,
    rngs: Filter = True,
) -> tuple[Any, Any]:
    """Lifted version of `laminax.jvp`: the result of a function of a module, and its tangent."""
def map_variables(
    target: Any,
    mapped_collections: Filter = True,
    trans_in_fn: Callable[[Any], Any] = ...,
    trans_out_fn: Callable[[Any], Any] = ...,
    init: bool = False,
    mutable: bool = False,
    rngs: Filter = True,
    variables: Filter = True,
    methods: Any = None,
) -> Any:
    """Changes how a module sees some of its variables, whatever they are outside: tied, transposed, normalized, quantized."""
def merge_param(name: str, a: Any, b: Any) -> Any:
    """The one of two values that is not None: that of a field, or that of a call's argument."""
def named_call(class_fn: F, force: bool = True) -> F:
    """A function of a module whose operations are named after the module and it, in profiles and programs."""
def nowrap(fun: F) -> F:
    """Marks a method that is called as it is: it makes no submodules, and nothing happens around its calls."""
def override_named_call(enable: bool = True) -> Iterator[None]:
    """A context in which operations are named after their modules, or are not."""
def remat(
    target: Any,
    variables: Filter = True,
    rngs: Filter = True,
    concrete: bool = False,
    prevent_cse: bool = True,
    static_argnums: int | Iterable[int] = ...,
    policy: Callable[..., bool] | None = None,
    methods: Any = None,
) -> Any:
    """Lifted version of `laminax.checkpoint`: methods whose intermediate values are computed again for derivatives, and not kept."""
def remat_scan(
    target: Any,
    lengths: Sequence[int] | None = ...,
    policy: Callable[..., bool] | None = None,
    variable_broadcast: Filter = False,
    variable_carry: Filter = False,
    variable_axes: Mapping[Filter, Any] = ...,
    split_rngs: Mapping[Filter, bool] = ...,
) -> Any:
    """A module applied many times in nested loops, of which only the borders of steps are kept for derivatives."""
def scan(
    target: Any,
    variable_axes: Mapping[Filter, Any] = ...,
    variable_broadcast: Filter = False,
    variable_carry: Filter = False,
    split_rngs: Mapping[Filter, bool] = ...,
    in_axes: Any = 0,
    out_axes: Any = 0,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
    data_transform: Callable[..., Any] | None = None,
    metadata_params: Mapping[Any, Any] = ...,
    methods: Any = None,
    _split_transpose: bool = False,
    check_constancy_invariants: bool = True,
) -> Any:
    """Lifted version of `laminax.lax.scan`: a method `(carry, *xs) -> (carry, ys)`, applied along an axis of xs."""
def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    mdl: Any,
    *operands: Any,
    variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.lax.switch`: one of several functions of a module, chosen by an integer that may be traced."""
def unbox(tree: Any) -> Any:
    """The tree with values in place of the boxes around them."""
def value_and_grad(
    fn: Callable[..., Any],
    mdl: Any,
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = ...,
    variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.value_and_grad`: the value of a function of a module, and its gradients by the other arguments."""
def vjp(
    fn: Callable[..., Any],
    mdl: Any,
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = ...,
    vjp_variables: Filter = 'params',
    variables: Filter = True,
    rngs: Filter = True,
    multi_scope: bool = False,
) -> Any:
    """Lifted version of `laminax.vjp`: the result of a function of a module, and a function from its cotangent to those of the
    arguments."""
def vmap(
    target: Any,
    variable_axes: Mapping[Filter, Any] = ...,
    split_rngs: Mapping[Filter, bool] = ...,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: str | None = None,
    spmd_axis_name: str | None = None,
    metadata_params: Mapping[Any, Any] = ...,
    methods: Any = None,
) -> Any:
    """Lifted version of `laminax.vmap`: methods along an axis of their arguments, and of variables."""
def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    mdl: Any,
    init: Any,
    carry_variables: Filter = False,
    broadcast_variables: Filter = True,
    split_rngs: Mapping[Filter, bool] = ...,
) -> Any:
    """Lifted version of `laminax.lax.while_loop`, of functions of a module and of the carry."""
