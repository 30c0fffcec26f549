# Written by tools/stubs.py.
"""Modules of neural networks, as Flax's `linen` has them. A table of contents: names load on first use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from laminax._array import Array
from laminax._src.linen.calls import F
from laminax._src.linen.filters import Filter
from laminax._src.linen.frozen_dict import FrozenDict as _FrozenDict
from laminax._src.linen.functional import Captured
from laminax._src.linen.lifted_loops import Broadcast
from laminax._src.linen.logical_axes import LogicallyPartitioned as _LogicallyPartitioned, Rules, RulesFallback as _RulesFallback
from laminax._src.linen.module import Module as _Module
from laminax._src.linen.partitioning import Names, Partitioned as _Partitioned
from laminax.typing import ArrayLike, DTypeLike
from laminax_ir.types.partition_specs import PartitionSpec
from typing import Any
from laminax._src.linen.filters import DenyList as DenyList
from laminax._src.linen.frozen_dict import FrozenDict as FrozenDict
from laminax._src.linen.layers.activation import PReLU as PReLU
from laminax._src.linen.layers.combinators import BatchApply as BatchApply
from laminax._src.linen.layers.combinators import Sequential as Sequential
from laminax._src.linen.layers.convolutions import Conv as Conv
from laminax._src.linen.layers.convolutions import ConvLocal as ConvLocal
from laminax._src.linen.layers.convolutions import ConvTranspose as ConvTranspose
from laminax._src.linen.layers.linear import Dense as Dense
from laminax._src.linen.layers.linear import DenseGeneral as DenseGeneral
from laminax._src.linen.layers.linear import Einsum as Einsum
from laminax._src.linen.layers.linear import Embed as Embed
from laminax._src.linen.layers.multi_head_attention import MultiHeadAttention as MultiHeadAttention
from laminax._src.linen.layers.multi_head_attention import MultiHeadDotProductAttention as MultiHeadDotProductAttention
from laminax._src.linen.layers.multi_head_attention import SelfAttention as SelfAttention
from laminax._src.linen.layers.normalization import BatchNorm as BatchNorm
from laminax._src.linen.layers.normalization import GroupNorm as GroupNorm
from laminax._src.linen.layers.normalization import InstanceNorm as InstanceNorm
from laminax._src.linen.layers.normalization import LayerNorm as LayerNorm
from laminax._src.linen.layers.normalization import RMSNorm as RMSNorm
from laminax._src.linen.layers.recurrent import ConvLSTMCell as ConvLSTMCell
from laminax._src.linen.layers.recurrent import GRUCell as GRUCell
from laminax._src.linen.layers.recurrent import LSTMCell as LSTMCell
from laminax._src.linen.layers.recurrent import MGUCell as MGUCell
from laminax._src.linen.layers.recurrent import OptimizedLSTMCell as OptimizedLSTMCell
from laminax._src.linen.layers.recurrent import RNNCellBase as RNNCellBase
from laminax._src.linen.layers.recurrent import SimpleCell as SimpleCell
from laminax._src.linen.layers.sequences import Bidirectional as Bidirectional
from laminax._src.linen.layers.sequences import RNN as RNN
from laminax._src.linen.layers.stochastic import Dropout as Dropout
from laminax._src.linen.layers.weight_normalization import SpectralNorm as SpectralNorm
from laminax._src.linen.layers.weight_normalization import WeightNorm as WeightNorm
from laminax._src.linen.lifting import In as In
from laminax._src.linen.lifting import Out as Out
from laminax._src.linen.logical_axes import LogicallyPartitioned as LogicallyPartitioned
from laminax._src.linen.logical_axes import RulesFallback as RulesFallback
from laminax._src.linen.metadata import AxisMetadata as AxisMetadata
from laminax._src.linen.module import Module as Module
from laminax._src.linen.partitioning import Partitioned as Partitioned
from laminax._src.linen.scope import Variable as Variable
from laminax.linen import errors as errors
from laminax.linen import initializers as initializers
from laminax.linen import serialization as serialization
from laminax.linen.initializers import ones_init as ones_init
from laminax.linen.initializers import zeros_init as zeros_init
from laminax.nn import celu as celu
from laminax.nn import elu as elu
from laminax.nn import gelu as gelu
from laminax.nn import glu as glu
from laminax.nn import hard_sigmoid as hard_sigmoid
from laminax.nn import hard_silu as hard_silu
from laminax.nn import hard_swish as hard_swish
from laminax.nn import hard_tanh as hard_tanh
from laminax.nn import leaky_relu as leaky_relu
from laminax.nn import log_sigmoid as log_sigmoid
from laminax.nn import log_softmax as log_softmax
from laminax.nn import logsumexp as logsumexp
from laminax.nn import one_hot as one_hot
from laminax.nn import relu as relu
from laminax.nn import relu6 as relu6
from laminax.nn import selu as selu
from laminax.nn import sigmoid as sigmoid
from laminax.nn import silu as silu
from laminax.nn import soft_sign as soft_sign
from laminax.nn import softmax as softmax
from laminax.nn import softplus as softplus
from laminax.nn import standardize as standardize
from laminax.nn import swish as swish
from laminax.nn import tanh as tanh
from laminax.nn.initializers import ones as ones
from laminax.nn.initializers import zeros as zeros

__all__: list[str]

PARTITION_NAME: str
def add_metadata_axis(target: Any, variable_axes: Mapping[Filter, Any] = ..., metadata_params: Mapping[Any, Any] = ...) -> Any:
    """Tells the boxes of variables of an axis that the module does not know of, as `vmap` does for the one that it adds."""
def apply(fn: Callable[..., Any], module: _Module, mutable: Filter = False, capture_intermediates: Captured = False) -> Callable[..., Any]:
    """`fn(module, *args)` as a function of the variables: `apply(fn, module)(variables, *args, rngs=...)`."""
def avg_pool(
    inputs: Array,
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = 'VALID',
    count_include_pad: bool = True,
) -> Array:
    """The mean of each window."""
broadcast: Broadcast
def canonicalize_dtype(*args: Any, dtype: DTypeLike | None = None, inexact: bool = True) -> DTypeLike:
    """The dtype to compute in: `dtype` where it is given, otherwise the one that the arguments promote to."""
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
def combine_masks(*masks: Array | None, dtype: DTypeLike = ...) -> Array | None:
    """The mask that allows what all masks allow; None among them allows all."""
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
def dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    broadcast_dropout: bool = True,
    dropout_rng: Array | None = None,
    dropout_rate: float = 0.0,
    deterministic: bool = False,
    dtype: DTypeLike | None = None,
    precision: Any = None,
    module: Any = None,
    force_fp32_for_softmax: bool = False,
    einsum_dot_general: Callable[..., Array] | None = None,
    qk_attn_weights_einsum: Callable[..., Array] | None = None,
    attn_weights_value_einsum: Callable[..., Array] | None = None,
) -> Array:
    """For each query the mean of the values, weighted by `dot_product_attention_weights` of their keys."""
def dot_product_attention_weights(
    query: Array,
    key: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    broadcast_dropout: bool = True,
    dropout_rng: Array | None = None,
    dropout_rate: float = 0.0,
    deterministic: bool = False,
    dtype: DTypeLike | None = None,
    precision: Any = None,
    module: Any = None,
    force_fp32_for_softmax: bool = False,
    einsum_dot_general: Callable[..., Array] | None = None,
    einsum: Callable[..., Array] | None = None,
) -> Array:
    """How much each query attends to each key: softmax(query @ key^T / sqrt(size) + bias), per head."""
def enable_named_call() -> None:
    """Has methods' operations named after their modules in profiles and programs, as is the default."""
def flip_sequences(inputs: Array, seq_lengths: Array | None, num_batch_dims: int, time_major: bool) -> Array:
    """Sequences read from their ends; what is beyond their lengths stays at the end, in reverse order too."""
def fold_rngs(target: Any, variables: Filter = True, rngs: Filter = True) -> Any:
    """Has a module draw its random keys from new streams, as `jit` does, without compiling it."""
def freeze(xs: Mapping[Any, Any]) -> _FrozenDict[Any, Any]:
    """A dict of dicts as a FrozenDict."""
def get_logical_axis_rules() -> Rules:
    """The rules of this thread."""
def get_partition_spec(tree: Any) -> Any:
    """The tree with a partition spec in place of each box or array; one that is not split for arrays without a box."""
def get_sharding(tree: Any, mesh: Any) -> Any:
    """The tree with a sharding over the mesh in place of each box or array."""
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
    """A context in which calls of methods go through `interceptor(next_function, args, kwargs, context)`, those of outer contexts first."""
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
def logical_axis_rules(rules: Rules) -> Iterator[None]:
    """A context in which other rules are set."""
def logical_to_mesh(tree: Any, rules: Rules | None = None) -> Any:
    """The tree with specs of mesh axes in place of specs of logical names."""
def logical_to_mesh_axes(array_dim_names: Sequence[str | None] | None, rules: Rules | None = None) -> PartitionSpec | None:
    """The partition spec of a value whose axes have these logical names, None where no rule says how to split one."""
def logical_to_mesh_sharding(tree: Any, mesh: Any, rules: Rules | None = None) -> Any:
    """The tree with shardings over the mesh in place of specs of logical names."""
def make_attention_mask(
    query_input: Array,
    key_input: Array,
    pairwise_fn: Callable[..., Any] = ...,
    extra_batch_dims: int = 0,
    dtype: DTypeLike = ...,
) -> Array:
    """A mask from a function of each query and each key."""
def make_causal_mask(x: Array, extra_batch_dims: int = 0, dtype: DTypeLike = ...) -> Array:
    """A mask by which each position sees itself and those before it."""
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
def max_pool(inputs: Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = 'VALID') -> Array:
    """The maximum of each window; the arguments are those of `avg_pool`, and what is padded does not count."""
def merge_param(name: str, a: Any, b: Any) -> Any:
    """The one of two values that is not None: that of a field, or that of a call's argument."""
def min_pool(inputs: Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = 'VALID') -> Array:
    """The minimum of each window; the arguments are those of `avg_pool`, and what is padded does not count."""
def named_call(class_fn: F, force: bool = True) -> F:
    """A function of a module whose operations are named after the module and it, in profiles and programs."""
def normalize(
    x: ArrayLike,
    axis: int | tuple[int, ...] | None = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-05,
    where: ArrayLike | None = None,
    *,
    algorithm: str = 'fast',
) -> Array:
    """(x - mean) / sqrt(variance + epsilon) along an axis; mean and variance are computed unless given."""
def nowrap(fun: F) -> F:
    """Marks a method that is called as it is: it makes no submodules, and nothing happens around its calls."""
def override_named_call(enable: bool = True) -> Iterator[None]:
    """A context in which operations are named after their modules, or are not."""
def pool(
    inputs: Array,
    init: Any,
    reduce_fn: Callable[[Array, Array], Array],
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
) -> Array:
    """Reduces every window of the spatial axes by a monoid."""
def promote_dtype(*args: Any, dtype: DTypeLike | None = None, inexact: bool = True) -> list[Any]:
    """The arguments as arrays of one dtype, that of `canonicalize_dtype`; None stays None."""
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
def replace_boxed(tree: Any, updates: Any) -> Any:
    """The tree with new values, each in the box of the value that it replaces."""
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
def set_logical_axis_rules(rules: Rules) -> None:
    """Sets the rules of this thread."""
def share_scope(module: _Module, other: _Module, /) -> None:
    """Has two modules use the same place among the variables, so that one adds variables to those of the other."""
def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    mdl: Any,
    *operands: Any,
    variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.lax.switch`: one of several functions of a module, chosen by an integer that may be traced."""
def tabulate(
    module: _Module,
    rngs: Any,
    depth: int | None = None,
    show_repeated: bool = False,
    mutable: Filter = ...,
    console_kwargs: Mapping[str, Any] | None = None,
    table_kwargs: Mapping[str, Any] = ...,
    column_kwargs: Mapping[str, Any] = ...,
    compute_flops: bool = False,
    compute_vjp_flops: bool = False,
    **kwargs: Any,
) -> Callable[..., str]:
    """A function of the arguments of a module that draws a table of its submodules: what each takes, returns and holds."""
def unbox(tree: Any) -> Any:
    """The tree with values in place of the boxes around them."""
def unfreeze(x: Any) -> Any:
    """A mapping as a dict of dicts that can be changed; subclasses of dict and other values as they are."""
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
def with_logical_constraint(
    x: Any,
    logical_axis_resources: Any,
    rules: Rules | None = None,
    mesh: Any = None,
    fallback: _RulesFallback = ...,
) -> Any:
    """Has values split over the mesh as the rules say. Without rules, or without a mesh, they stay as they are."""
def with_logical_partitioning(
    fn: Callable[..., Any],
    names: tuple[Any, ...],
    mesh: Any = None,
    rules: Rules | None = None,
) -> Callable[..., _LogicallyPartitioned]:
    """An initializer whose values are boxed with the logical names of their axes."""
def with_partitioning(fn: Callable[..., Any], names: Names, mesh: Any = None) -> Callable[..., _Partitioned]:
    """An initializer whose values are boxed with the names of mesh axes."""
