"""Activation functions: elementwise, of arrays of any shape; integers are taken as floats where the result is one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.elementwise import logistic
from laminax_ir.ops.shape_arguments import canonical_axis
from laminax_ir.ops.special import erfc
from laminax_transforms import custom_jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import as_array, ensure_array, inexact, promote_inexact, strong

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def identity(x: ArrayLike) -> Array:
    """The argument, as an array.

    Example:
      >>> nn.identity(jnp.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return jnp.asarray(x)


@fused
@custom_jvp
def relu(x: ArrayLike) -> Array:
    """Rectified linear unit, max(x, 0). Its derivative is 1 for x > 0 and 0 elsewhere, at 0 too.

    Example:
      >>> nn.relu(jnp.array([-2.0, 3.0]))
      Array([0., 3.], dtype=float32)

    Source: Glorot, Bordes, Bengio, "Deep sparse rectifier neural networks", AISTATS 2011.
    """
    return jnp.maximum(x, 0)


def _relu_tangent(tangent: ArrayLike, _result: ArrayLike, x: ArrayLike) -> Array:
    # not max's own rule, which would give 1/2 at 0; see Bertoin et al., "Numerical influence of ReLU'(0)", 2021
    return jnp.where(x > 0, tangent, 0)


relu.__wrapped__.defjvps(_relu_tangent)  # type: ignore[attr-defined]  # the function with derivatives that `fused` wraps


@fused
@custom_jvp
def relu6(x: ArrayLike) -> Array:
    """Rectified linear unit limited to 6: min(max(x, 0), 6). Its derivative is 1 for 0 < x < 6 and 0 elsewhere, at 0 and 6 too.

    Example:
      >>> nn.relu6(jnp.array([-2.0, 3.0, 9.0]))
      Array([0., 3., 6.], dtype=float32)
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.__wrapped__.defjvps(lambda tangent, _result, x: jnp.where((x > 0) & (x < 6), tangent, 0))  # type: ignore[attr-defined]  # likewise


@fused
def sigmoid(x: ArrayLike) -> Array:
    """Logistic function, 1 / (1 + exp(-x)).

    Example:
      >>> nn.sigmoid(jnp.array([0.0, 2.0]))
      Array([0.5     , 0.880797], dtype=float32)
    """
    return logistic(jnp.asarray(x) if not hasattr(x, "dtype") else x) if _is_inexact(x) else logistic(jnp.asarray(x, float))


def _operand(name: str, x: Any) -> Any:
    """x as an array of laminax: on host values NumPy's own operators and comparisons would compute, in other dtypes."""
    return as_array(ensure_array(name, x))


def _is_inexact(x: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(x), jnp.inexact)


@fused
def softplus(x: ArrayLike) -> Array:
    """Smooth rectifier, log(1 + exp(x)).

    Example:
      >>> nn.softplus(jnp.array([0.0, 100.0]))
      Array([  0.6931472, 100.       ], dtype=float32)
    """
    return jnp.logaddexp(x, 0)


@fused
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)), elementwise; -inf at 0 and NaN below.

    Example:
      >>> nn.log1mexp(jnp.array([1e-6, 1.0]))
      Array([-13.815511  ,  -0.45867515], dtype=float32)

    Source: M. Maechler, "Accurately Computing log(1 - exp(-|a|))", 2012.
    """
    return _log1mexp(as_array(inexact("log1mexp", x)))


@custom_jvp
def _log1mexp(x: Array) -> Array:
    return jnp.where(x > math.log(2), jnp.log1p(-jnp.exp(-x)), jnp.log(-jnp.expm1(-x)))


_log1mexp.defjvps(lambda tangent, _result, x: tangent / jnp.expm1(x))


@fused
def sparse_plus(x: ArrayLike) -> Array:
    """Softplus with compact curvature: 0 below -1, x above 1, (x + 1)**2 / 4 between.

    Example:
      >>> nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
      Array([0.  , 0.25, 2.  ], dtype=float32)

    Source: Shleifer et al., "Sparse plus" as in Blondel et al. (sparse activations, 2019).
    """
    x = _operand("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@fused
def sparse_sigmoid(x: ArrayLike) -> Array:
    """Derivative of sparse_plus: 0 below -1, 1 above 1, (x + 1) / 2 between.

    Example:
      >>> nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return 0.5 * jnp.clip(_operand("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


@fused
def soft_sign(x: ArrayLike) -> Array:
    """x / (|x| + 1).

    Example:
      >>> nn.soft_sign(jnp.array([-1.0, 3.0]))
      Array([-0.5 ,  0.75], dtype=float32)
    """
    x = _operand("soft_sign", x)
    return x / (jnp.abs(x) + 1)


@fused
def silu(x: ArrayLike) -> Array:
    """Sigmoid linear unit, x * sigmoid(x); also called swish.

    Example:
      >>> nn.silu(jnp.array([-2.0, 3.0]))
      Array([-0.23840584,  2.8577223 ], dtype=float32)
    """
    x, = promote_inexact("silu", _operand("silu", x))
    return x * sigmoid(x)


swish = silu


@fused
def mish(x: ArrayLike) -> Array:
    """x * tanh(softplus(x)). Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.

    Example:
      >>> nn.mish(jnp.array([-2.0, 3.0]))
      Array([-0.25250146,  2.9865355 ], dtype=float32)
    """
    x = _operand("mish", x)
    return x * jnp.tanh(softplus(x))


@fused
def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), computed as -softplus(-x).

    Example:
      >>> nn.log_sigmoid(jnp.array([-100.0, 0.0]))
      Array([-100.       ,   -0.6931472], dtype=float32)
    """
    return -softplus(-_operand("log_sigmoid", x))


@fused
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Exponential linear unit: x for x > 0, alpha * (exp(x) - 1) elsewhere.

    Args:
      x: an array.
      alpha: scalar or array, the limit of the negative part.

    Example:
      >>> nn.elu(jnp.array([-2.0, 3.0]))
      Array([-0.86466473,  3.        ], dtype=float32)
    """
    x = _operand("elu", x)
    # the inner where keeps exp from overflowing where its branch is not taken, which would make NaN gradients
    is_positive = x > 0
    return jnp.where(is_positive, x, alpha * jnp.expm1(jnp.where(is_positive, 0.0, x)))


@fused
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """x for x >= 0, negative_slope * x elsewhere.

    Args:
      x: an array.
      negative_slope: the slope for negative x.

    Returns:
      A float array of x's shape.

    Example:
      >>> nn.leaky_relu(jnp.array([-2.0, 3.0]))
      Array([-0.02,  3.  ], dtype=float32)
    """
    x = _operand("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@fused
def hard_tanh(x: ArrayLike) -> Array:
    """x limited to [-1, 1].

    Example:
      >>> nn.hard_tanh(jnp.array([-4.0, 0.5, 2.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = _operand("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@fused
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Continuously differentiable ELU: max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).

    Args:
      x: an array.
      alpha: minus the limit for large negative x, not 0.

    Returns:
      A float array of x's shape.

    Example:
      >>> nn.celu(jnp.array([-2.0, 3.0]))
      Array([-0.86466473,  3.        ], dtype=float32)

    Source: Barron, "Continuously Differentiable Exponential Linear Units", 2017.
    """
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@fused
def selu(x: ArrayLike) -> Array:
    """Scaled ELU with the self-normalising constants of Klambauer et al., NIPS 2017.

    Example:
      >>> nn.selu(jnp.array([-2.0, 3.0]))
      Array([-1.5201665,  3.152103 ], dtype=float32)
    """
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


@fused(static_argnames=("approximate",))
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Gaussian error linear unit, x * Phi(x) with the normal distribution function Phi.

    Args:
      x: an array.
      approximate: whether to use the tanh approximation instead of erf.

    Example:
      >>> nn.gelu(jnp.array([-2.0, 3.0]))
      Array([-0.04540235,  2.9963627 ], dtype=float32)

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.
    """
    x = strong(_operand("gelu", x) if _is_inexact(x) else jnp.asarray(x, float))
    if approximate:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x ** 3))
        return x * (0.5 * (1.0 + jnp.tanh(inner)))
    return 0.5 * x * erfc(-x * math.sqrt(0.5))


@fused(static_argnames=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Gated linear unit: the first half of `axis` times the sigmoid of the second half.

    Args:
      x: an array.
      axis: the axis that is cut into halves.

    Returns:
      A float array of x's shape, with half the size along the axis.

    Raises:
      ValueError: if there is no such axis, or it has odd size.

    Example:
      >>> nn.glu(jnp.array([1.0, 2.0, 0.0, 10.0]))
      Array([0.5      , 1.9999092], dtype=float32)
    """
    x = _operand("glu", x)
    if not x.ndim:
        raise ValueError(f"glu: axis {axis} is out of bounds for array of dimension 0. x is a scalar; give an array with an axis of even "
                         "size, which is cut into halves.")
    size = x.shape[canonical_axis("glu", axis, x.ndim)]
    if size % 2:
        raise ValueError(f"glu: axis {axis} must have even size, got {size} in shape {x.shape}")
    first, second = jnp.split(promote_inexact("glu", x)[0], 2, axis)
    return first * sigmoid(second)


@fused
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x**2 + b)) / 2; b=4 makes the curvature at 0 that of softplus. Source: Barron, "Squareplus", 2021.

    Args:
      x: an array.
      b: how round the corner at 0 is; 0 gives relu.

    Returns:
      A float array of x's shape.

    Example:
      >>> nn.squareplus(jnp.array([0.0, 3.0]))
      Array([1.       , 3.3027756], dtype=float32)
    """
    return 0.5 * (x + jnp.sqrt(jnp.square(x) + b))


@fused
def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6.

    Example:
      >>> nn.hard_sigmoid(jnp.array([-4.0, 0.0, 1.5]))
      Array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return relu6(_operand("hard_sigmoid", x) + 3.0) / 6.0


@fused
def hard_silu(x: ArrayLike) -> Array:
    """x * hard_sigmoid(x). Source: Howard et al., "Searching for MobileNetV3", 2019.

    Example:
      >>> nn.hard_silu(jnp.array([-4.0, 0.0, 1.5]))
      Array([-0.   ,  0.   ,  1.125], dtype=float32)
    """
    x = _operand("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def tanh(x: ArrayLike) -> Array:
    """Hyperbolic tangent, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      A float or complex array of x's shape.

    Example:
      >>> nn.tanh(jnp.array([0., 1., -2.]))
      Array([ 0.       ,  0.7615942, -0.9640276], dtype=float32)
    """
    return jnp.tanh(x)
