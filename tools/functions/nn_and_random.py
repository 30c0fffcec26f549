"""`laminax.nn`, and the distributions of `laminax.random`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from functions.drawing import FULL_FLOATS, SIGNED, Call
from functions.entries import Arguments, entry, untested


def one(dtypes: Any, **options: Any) -> Arguments:
    return lambda d: Call((d.array(dtypes, **options),))


N = "nn"


def activations(**oracles: Any) -> None:
    for name, oracle in oracles.items():
        entry(N, name, one(FULL_FLOATS, low=-20, high=20), oracle, units=64, scale="largest")


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return scipy.special.expit(x)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, 0)


ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946  # Klambauer et al., 2017
activations(
    relu=lambda x: np.maximum(x, 0),
    relu6=lambda x: np.clip(x, 0, 6),
    sigmoid=_sigmoid,
    silu=lambda x: x * _sigmoid(x),
    swish=lambda x: x * _sigmoid(x),
    softplus=_softplus,
    log_sigmoid=lambda x: -_softplus(-x),
    soft_sign=lambda x: x / (1 + np.abs(x)),
    hard_tanh=lambda x: np.clip(x, -1, 1),
    hard_sigmoid=lambda x: np.clip(x + 3, 0, 6) / 6,
    hard_silu=lambda x: x * np.clip(x + 3, 0, 6) / 6,
    hard_swish=lambda x: x * np.clip(x + 3, 0, 6) / 6,
    mish=lambda x: x * np.tanh(_softplus(x)),
    tanh=np.tanh,
    identity=lambda x: x,
    selu=lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
    elu=lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    celu=lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    leaky_relu=lambda x: np.where(x >= 0, x, 0.01 * x),
    squareplus=lambda x: (x + np.sqrt(x * x + 4)) / 2,
    gelu=lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    sparse_plus=lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    sparse_sigmoid=lambda x: np.clip((x + 1) / 2, 0, 1),
)
entry(
    N,
    "glu",
    lambda d: Call((d.array(FULL_FLOATS, d.one((4,), (3, 6)), -9, 9),)),
    lambda x: x[..., : x.shape[-1] // 2] * _sigmoid(x[..., x.shape[-1] // 2 :]),
    units=64,
    scale="largest",
)
entry(N, "log1mexp", one(FULL_FLOATS, low=0.01, high=20), lambda x: np.log1p(-np.exp(-x)), units=256, scale="largest")
entry(
    N,
    "softmax",
    lambda d: Call((x := d.array(FULL_FLOATS, low=-10, high=10, filled=True, least=1),), {"axis": d.axis(x.ndim)}),
    scipy.special.softmax,
    units=64,
)
entry(
    N,
    "log_softmax",
    lambda d: Call((x := d.array(FULL_FLOATS, low=-10, high=10, filled=True, least=1),), {"axis": d.axis(x.ndim)}),
    scipy.special.log_softmax,
    units=64,
    scale="largest",
)
entry(
    N,
    "logsumexp",
    # SciPy keeps one axis of a number, which has none
    lambda d: Call((x := d.array(FULL_FLOATS, low=-10, high=10, filled=True),),
                   {"axis": d.axes(x.ndim), "keepdims": d.flag() and x.ndim > 0}),
    scipy.special.logsumexp,
    units=64,
    scale="largest",
)
entry(
    N,
    "logmeanexp",
    lambda d: Call((x := d.array(FULL_FLOATS, low=-10, high=10, filled=True),), {"axis": d.axes(x.ndim)}),
    lambda x, axis: np.log(np.mean(np.exp(x), axis=axis)),
    units=256,
    scale="largest",
)
entry(
    N,
    "one_hot",
    lambda d: Call((d.array(SIGNED, d.one((), (3,), (2, 2)), -2, 5), 4)),
    lambda i, n: (i[..., None] == np.arange(n)).astype("float32"),
    raw=True,
)
entry(
    N,
    "standardize",
    lambda d: Call((x := d.array(FULL_FLOATS, d.one((5,), (3, 4)), -3, 3),), {"axis": d.axis(x.ndim)}),
    lambda x, axis: (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5),
    units=4000,
    scale="largest",
)


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, is_causal: bool) -> np.ndarray:
    logits = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    if is_causal:
        logits = np.where(np.tril(np.ones(logits.shape[-2:], bool)), logits, -np.inf)
    return np.einsum("bhqk,bkhd->bqhd", scipy.special.softmax(logits, -1), v)


entry(
    N,
    "dot_product_attention",
    lambda d: Call(
        (q := d.array("float32", (2, 4, 2, 3), -2, 2), d.array("float32", q.shape, -2, 2), d.array("float32", q.shape, -2, 2)),
        {"is_causal": d.flag()},
    ),
    _attention,
    units=256,
    scale="largest",
)
untested(
    N,
    "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
    "operands of four and eight bits with scales",
    "packages/api/tests/test_scaled_products.py",
)

# --- random: the numbers' distribution is tested, not single numbers ---

untested(
    "random",
    "Key PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data",
    "keys: known bits",
    "packages/api/tests/test_random.py",
    "packages/api/tests/test_names_of_newer_jax.py",
)
untested(
    "random",
    """ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet double_sided_maxwell exponential f gamma
    generalized_normal geometric
    gumbel laplace loggamma logistic lognormal maxwell multinomial multivariate_normal normal orthogonal pareto permutation poisson
    rademacher randint rayleigh t
    triangular truncated_normal uniform wald weibull_min""",
    "known bits and Kolmogorov-Smirnov tests",
    "packages/api/tests/test_random.py",
    "packages/api/tests/test_random_composed.py",
    "packages/api/tests/test_random_binomial.py",
)
untested(
    "nn.initializers",
    """constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal
    lecun_uniform normal
    ones orthogonal truncated_normal uniform variance_scaling xavier_normal xavier_uniform zeros""",
    "variances",
    "packages/api/tests/test_nn_initializers.py",
)
