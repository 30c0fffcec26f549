# Written by tools/stubs.py.
"""Common functions of neural networks. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax._src.numerics.nn.scaled_products import BlockScaleConfig
from laminax.typing import ArrayLike, DTypeLike
from typing import Any, Literal, overload
from laminax.nn import initializers as initializers

__all__: list[str]

@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array:
    """log(sum(b * exp(a))), without overflow."""
@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """log(abs(sum(b * exp(a)))), without overflow, and the sign of the sum."""

def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Continuously differentiable ELU: max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)."""
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: Array | None = None,
    local_window_size: ArrayLike | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(query @ key^T * scale + bias) @ value, per head."""
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Exponential linear unit: x for x > 0, alpha * (exp(x) - 1) elsewhere."""
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Gaussian error linear unit, x * Phi(x) with the normal distribution function Phi."""
def get_scaled_dot_general_config(mode: str, global_scale: Array | None = None) -> BlockScaleConfig:
    """A format of quantisation by blocks, for `scaled_dot_general`."""
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Gated linear unit: the first half of `axis` times the sigmoid of the second half."""
def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6."""
def hard_silu(x: ArrayLike) -> Array:
    """x * hard_sigmoid(x). Source: Howard et al., "Searching for MobileNetV3", 2019."""
def hard_swish(x: ArrayLike) -> Array:
    """x * hard_sigmoid(x). Source: Howard et al., "Searching for MobileNetV3", 2019."""
def hard_tanh(x: ArrayLike) -> Array:
    """x limited to [-1, 1]."""
def identity(x: ArrayLike) -> Array:
    """The argument, as an array."""
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """x for x >= 0, negative_slope * x elsewhere."""
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)), elementwise; -inf at 0 and NaN below."""
def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), computed as -softplus(-x)."""
def log_softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """Logarithm of softmax, computed as x - logsumexp(x). Elements left out by `where` get -inf."""
def logmeanexp(x: ArrayLike, axis: Any = None, where: ArrayLike | None = None, keepdims: bool = False) -> Array:
    """log(mean(exp(x))): logsumexp minus the logarithm of the number of elements. Arguments as there."""
def mish(x: ArrayLike) -> Array:
    """x * tanh(softplus(x)). Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019."""
def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: int = -1, out_sharding: Any = None) -> Array:
    """One-hot codes of integers."""
def relu(x: ArrayLike) -> Array:
    """Rectified linear unit, max(x, 0). Its derivative is 1 for x > 0 and 0 elsewhere, at 0 too."""
def relu6(x: ArrayLike) -> Array:
    """Rectified linear unit limited to 6: min(max(x, 0), 6). Its derivative is 1 for 0 < x < 6 and 0 elsewhere, at 0 and 6 too."""
def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike = ...,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """`lax.dot_general` of operands that are quantised by blocks along what is contracted; so is the derivative."""
def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = ...,
) -> Array:
    """The products of the rows of lhs and of rhs, quantised by blocks: the sum over k of lhs[b, m, k] rhs[b, n, k], times their scales."""
def selu(x: ArrayLike) -> Array:
    """Scaled ELU with the self-normalising constants of Klambauer et al., NIPS 2017."""
def sigmoid(x: ArrayLike) -> Array:
    """Logistic function, 1 / (1 + exp(-x))."""
def silu(x: ArrayLike) -> Array:
    """Sigmoid linear unit, x * sigmoid(x); also called swish."""
def soft_sign(x: ArrayLike) -> Array:
    """x / (|x| + 1)."""
def softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
def softplus(x: ArrayLike) -> Array:
    """Smooth rectifier, log(1 + exp(x))."""
def sparse_plus(x: ArrayLike) -> Array:
    """Softplus with compact curvature: 0 below -1, x above 1, (x + 1)**2 / 4 between."""
def sparse_sigmoid(x: ArrayLike) -> Array:
    """Derivative of sparse_plus: 0 below -1, 1 above 1, (x + 1) / 2 between."""
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x**2 + b)) / 2; b=4 makes the curvature at 0 that of softplus. Source: Barron, "Squareplus", 2021."""
def standardize(
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
def swish(x: ArrayLike) -> Array:
    """Sigmoid linear unit, x * sigmoid(x); also called swish."""
def tanh(x: ArrayLike) -> Array:
    """Hyperbolic tangent, elementwise."""
