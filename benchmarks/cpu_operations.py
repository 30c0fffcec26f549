"""Operations that users run on the CPU, for `cpu.py`: sorting, cumulative, indexing, random, linear algebra, transforms, special functions.

Each is a function of the library and a size that returns what is jitted and its arguments, NumPy arrays. Those with `by` have gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_programs import CpuProgram, table

OPERATIONS: dict[str, CpuProgram] = {}
_LENGTHS = (1_000, 30_000, 1_000_000)
_SHORTER = (1_000, 10_000, 100_000)
_KEY = np.array([0, 7], np.uint32)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return _rng().normal(size=shape).astype(np.float32)


def _uniform(low: float, high: float, *shape: int) -> np.ndarray:
    return _rng().uniform(low, high, size=shape).astype(np.float32)


def _integers(high: int, *shape: int) -> np.ndarray:
    return _rng().integers(0, high, size=shape).astype(np.int32)


def _scipy(name: str) -> Any:
    """A function of `scipy.special`; SciPy is imported where it is asked for only."""
    from scipy import special
    return getattr(special, name)


# Sorting


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.sort(x))
def _sort(lib, n):
    return lib.numpy.sort, (_normal(n),)


@table(OPERATIONS, (10, 300, 10_000), (0,), lambda n, x: lambda: np.sort(x))
def _sort_rows(lib, n):
    return lib.numpy.sort, (_normal(n, 100),)


@table(OPERATIONS, (10, 300, 10_000), (0,), lambda n, x: lambda: np.sort(x, axis=0))
def _sort_columns(lib, n):
    return lambda x: lib.numpy.sort(x, axis=0), (_normal(n, 100),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.sort(x))
def _sort_integers(lib, n):
    return lib.numpy.sort, (_integers(2**31 - 1, n),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.argsort(x, stable=True))
def _argsort(lib, n):
    return lib.numpy.argsort, (_normal(n),)


@table(OPERATIONS, (10, 300, 10_000), (), lambda n, x: lambda: np.argsort(x, stable=True))
def _argsort_rows(lib, n):
    return lib.numpy.argsort, (_normal(n, 100),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.argsort(x, stable=True))
def _argsort_integers(lib, n):
    return lib.numpy.argsort, (_integers(1000, n),)


@table(OPERATIONS, _LENGTHS, (1,))
def _sort_by_key(lib, n):
    return lambda k, v: lib.lax.sort((k, v), num_keys=1), (_integers(1000, n), _normal(n))


@table(OPERATIONS, _LENGTHS, (), lambda n, a, b: lambda: np.lexsort((a, b)))
def _lexsort(lib, n):
    return lambda a, b: lib.numpy.lexsort((a, b)), (_normal(n), _integers(10, n))


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.median(x))
def _median(lib, n):
    return lib.numpy.median, (_normal(n),)


@table(OPERATIONS, (10, 300, 10_000), (0,), lambda n, x: lambda: np.median(x, axis=1))
def _median_rows(lib, n):
    return lambda x: lib.numpy.median(x, axis=1), (_normal(n, 100),)


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x, q: lambda: np.quantile(x, q))
def _quantile(lib, n):
    return lib.numpy.quantile, (_normal(n), np.array([0.1, 0.5, 0.9], np.float32))


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.percentile(x, 90))
def _percentile(lib, n):
    return lambda x: lib.numpy.percentile(x, 90), (_normal(n),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.partition(x, n // 2))
def _partition(lib, n):
    return lambda x: lib.numpy.partition(x, n // 2), (_normal(n),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.unique(x))
def _unique(lib, n):
    return lambda x: lib.numpy.unique(x, size=100), (_integers(100, n),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.unique(x, return_counts=True, return_inverse=True))
def _unique_inverse(lib, n):
    return lambda x: lib.numpy.unique(x, size=100, return_counts=True, return_inverse=True), (_integers(100, n),)


@table(OPERATIONS, _LENGTHS, (), lambda n, a, v: lambda: np.searchsorted(a, v))
def _searchsorted(lib, n):
    return lib.numpy.searchsorted, (np.sort(_normal(1000)), _normal(n))


@table(OPERATIONS, _LENGTHS, (), lambda n, x, bins: lambda: np.digitize(x, bins))
def _digitize(lib, n):
    return lib.numpy.digitize, (_normal(n), np.linspace(-3, 3, 21).astype(np.float32))


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.partition(x, n - 10)[n - 10:])
def _top_k(lib, n):
    return lambda x: lib.lax.top_k(x, 10), (_normal(n),)


@table(OPERATIONS, (4, 32, 256), (0,), lambda n, x: lambda: np.argpartition(x, 1000, axis=1))
def _top_k_rows(lib, n):
    return lambda x: lib.lax.top_k(x, 40), (_normal(n, 5_000),)


# Cumulative operations and reductions


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.cumsum(x))
def _cumsum(lib, n):
    return lib.numpy.cumsum, (_normal(n),)


@table(OPERATIONS, (10, 300, 3_000), (0,), lambda n, x: lambda: np.cumsum(x, axis=0))
def _cumsum_columns(lib, n):
    return lambda x: lib.numpy.cumsum(x, axis=0), (_normal(n, 300),)


@table(OPERATIONS, (10, 300, 3_000), (0,), lambda n, x: lambda: np.cumsum(x, axis=1))
def _cumsum_rows(lib, n):
    return lambda x: lib.numpy.cumsum(x, axis=1), (_normal(n, 300),)


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.cumprod(x))
def _cumprod(lib, n):
    return lib.numpy.cumprod, (_uniform(0.99, 1.01, n),)


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.maximum.accumulate(x))
def _cummax(lib, n):
    return lib.lax.cummax, (_normal(n),)


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.logaddexp.accumulate(x))
def _cumlogsumexp(lib, n):
    return lib.lax.cumlogsumexp, (_normal(n),)


@table(OPERATIONS, _LENGTHS, (0, 1))
def _associative_scan(lib, n):
    def scan(a, b):
        return lib.lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))
    return scan, (_uniform(0.5, 0.99, n), _normal(n))


@table(OPERATIONS, (100, 1_000, 10_000), (0,), lambda n, x: lambda: x.sum(0))
def _sum_first_axis(lib, n):
    return lambda x: x.sum(0), (_normal(n, 300),)


@table(OPERATIONS, (100, 1_000, 10_000), (0,), lambda n, x: lambda: x.sum(1))
def _sum_last_axis(lib, n):
    return lambda x: x.sum(1), (_normal(n, 300),)


@table(OPERATIONS, (100, 1_000, 10_000), (0,), lambda n, x: lambda: x.var(0))
def _variance_first_axis(lib, n):
    return lambda x: x.var(0), (_normal(n, 300),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.argmax(x))
def _argmax(lib, n):
    return lib.numpy.argmax, (_normal(n),)


@table(OPERATIONS, (10, 300, 10_000), (), lambda n, x: lambda: np.argmax(x, axis=1))
def _argmax_rows(lib, n):
    return lambda x: lib.numpy.argmax(x, axis=1), (_normal(n, 100),)


@table(OPERATIONS, (10, 300, 10_000), (0,), lambda n, x: lambda: _scipy("logsumexp")(x, axis=1))
def _logsumexp(lib, n):
    return lambda x: lib.scipy.special.logsumexp(x, axis=1), (_normal(n, 100),)


@table(OPERATIONS, (10, 300, 10_000), (0,), lambda n, x: lambda: _scipy("softmax")(x, axis=1))
def _softmax(lib, n):
    return lib.nn.softmax, (_normal(n, 100),)


@table(OPERATIONS, (10, 300, 10_000), (0,))
def _layer_norm(lib, n):
    def norm(x, scale, shift):
        centered = x - x.mean(1, keepdims=True)
        return centered * lib.lax.rsqrt((centered**2).mean(1, keepdims=True) + 1e-5) * scale + shift
    return norm, (_normal(n, 100), _normal(100), _normal(100))


# Indexing


@table(OPERATIONS, _LENGTHS, (0, 2))
def _scatter_add(lib, n):
    return lambda x, i, v: x.at[i].add(v), (_normal(1000), _integers(1000, n), _normal(n))


@table(OPERATIONS, _LENGTHS, (0, 2))
def _scatter_set(lib, n):
    return lambda x, i, v: x.at[i].set(v, unique_indices=True), (_normal(n), _rng().permutation(n).astype(np.int32), _normal(n))


@table(OPERATIONS, _SHORTER, (0, 2))
def _scatter_max(lib, n):
    return lambda x, i, v: x.at[i].max(v), (_normal(1000), _integers(1000, n), _normal(n))


@table(OPERATIONS, (1_000, 10_000, 100_000), (0,))
def _segment_sum(lib, n):
    return lambda x, i: lib.ops.segment_sum(x, i, num_segments=n // 10), (_normal(n, 16), _integers(n // 10, n))


@table(OPERATIONS, (1_000, 10_000, 100_000), (0,))
def _segment_max(lib, n):
    return lambda x, i: lib.ops.segment_max(x, i, num_segments=n // 10), (_normal(n, 16), _integers(n // 10, n))


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x, i: lambda: x[i])
def _gather(lib, n):
    return lambda x, i: x[i], (_normal(n), _integers(n, n))


@table(OPERATIONS, (100, 1_000, 10_000), (0,), lambda n, x, i: lambda: x[i])
def _embedding(lib, n):
    return lambda x, i: x[i], (_normal(10_000, 128), _integers(10_000, n))


@table(OPERATIONS, (10, 300, 10_000), (0,), lambda n, x, i: lambda: np.take_along_axis(x, i, axis=1))
def _take_along_axis(lib, n):
    return lambda x, i: lib.numpy.take_along_axis(x, i, axis=1), (_normal(n, 100), _integers(100, n, 10))


@table(OPERATIONS, (10, 300, 10_000), (0,))
def _cross_entropy(lib, n):
    def loss(logits, labels):
        return -lib.numpy.take_along_axis(lib.nn.log_softmax(logits), labels[:, None], axis=1).mean()
    return loss, (_normal(n, 100), _integers(100, n))


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.histogram(x, 50))
def _histogram(lib, n):
    return lambda x: lib.numpy.histogram(x, 50), (_normal(n),)


@table(OPERATIONS, _LENGTHS, (), lambda n, x: lambda: np.bincount(x, minlength=100))
def _bincount(lib, n):
    return lambda x: lib.numpy.bincount(x, length=100), (_integers(100, n),)


@table(OPERATIONS, _LENGTHS, (2,), lambda n, x, xp, fp: lambda: np.interp(x, xp, fp))
def _interp(lib, n):
    return lib.numpy.interp, (_normal(n), np.linspace(-3, 3, 100).astype(np.float32), _normal(100))


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.roll(x, 17))
def _roll(lib, n):
    return lambda x: lib.numpy.roll(x, 17), (_normal(n),)


@table(OPERATIONS, _SHORTER, (), lambda n, x: lambda: np.nonzero(x > 0))
def _nonzero(lib, n):
    return lambda x: lib.numpy.nonzero(x > 0, size=n // 2), (_normal(n),)


# Random numbers


@table(OPERATIONS, _LENGTHS, (), lambda n, key: lambda: _rng().normal(size=n))
def _random_normal(lib, n):
    return lambda key: lib.random.normal(key, (n,)), (_KEY,)


@table(OPERATIONS, _LENGTHS, (), lambda n, key: lambda: _rng().uniform(size=n))
def _random_uniform(lib, n):
    return lambda key: lib.random.uniform(key, (n,)), (_KEY,)


@table(OPERATIONS, _SHORTER, (), lambda n, key: lambda: _rng().permutation(n))
def _random_permutation(lib, n):
    return lambda key: lib.random.permutation(key, n), (_KEY,)


@table(OPERATIONS, _LENGTHS, (), lambda n, key, x: lambda: _rng().choice(x, n))
def _random_choice(lib, n):
    return lambda key, x: lib.random.choice(key, x, (n,)), (_KEY, _normal(100))


@table(OPERATIONS, _SHORTER, (), lambda n, key, x: lambda: _rng().choice(x, n // 2, replace=False))
def _random_choice_without_replacement(lib, n):
    return lambda key, x: lib.random.choice(key, x, (n // 2,), replace=False), (_KEY, _normal(n))


@table(OPERATIONS, _LENGTHS, (), lambda n, key, x, p: lambda: _rng().choice(x, n, p=p / p.sum(dtype=np.float64)))
def _random_choice_weighted(lib, n):
    p = _uniform(0, 1, 100)
    return lambda key, x, p: lib.random.choice(key, x, (n,), p=p), (_KEY, _normal(100), p / p.sum())


@table(OPERATIONS, (10, 300, 10_000), ())
def _random_categorical(lib, n):
    return lib.random.categorical, (_KEY, _normal(n, 100))


@table(OPERATIONS, _SHORTER, (), lambda n, key, a: lambda: _rng().gamma(a))
def _random_gamma(lib, n):
    return lib.random.gamma, (_KEY, _uniform(0.5, 5, n))


@table(OPERATIONS, _SHORTER, (), lambda n, key, a: lambda: _rng().beta(a, a))
def _random_beta(lib, n):
    return lambda key, a: lib.random.beta(key, a, a), (_KEY, _uniform(0.5, 5, n))


@table(OPERATIONS, _SHORTER, (), lambda n, key, a: lambda: _rng().poisson(a))
def _random_poisson(lib, n):
    return lib.random.poisson, (_KEY, _uniform(0.5, 20, n))


@table(OPERATIONS, _LENGTHS, (), lambda n, key: lambda: _rng().random(n) < 0.3)
def _random_bernoulli(lib, n):
    return lambda key: lib.random.bernoulli(key, 0.3, (n,)), (_KEY,)


@table(OPERATIONS, _LENGTHS, (), lambda n, key: lambda: _rng().gumbel(size=n))
def _random_gumbel(lib, n):
    return lambda key: lib.random.gumbel(key, (n,)), (_KEY,)


@table(OPERATIONS, _LENGTHS, ())
def _random_truncated_normal(lib, n):
    return lambda key: lib.random.truncated_normal(key, -2.0, 2.0, (n,)), (_KEY,)


@table(OPERATIONS, _LENGTHS, (), lambda n, key: lambda: _rng().integers(0, 1000, size=n))
def _random_integers(lib, n):
    return lambda key: lib.random.randint(key, (n,), 0, 1000), (_KEY,)


# Linear algebra of small matrices, and of one larger one


def _positive(count: int, n: int) -> np.ndarray:
    a = _normal(count, n, n)
    return a @ a.transpose(0, 2, 1) + n * np.eye(n, dtype=np.float32)


def _well_conditioned(count: int, n: int) -> np.ndarray:
    return _normal(count, n, n) + 3 * np.eye(n, dtype=np.float32)


def _batched(n: int) -> None:
    """The operations on batches of n by n matrices."""
    counts = (10, 1_000, 30_000)

    @table(OPERATIONS, counts, (0, 1), lambda count, a, b: lambda: np.linalg.solve(a, b), f"solve_{n}_by_{n}")
    def solve(lib, count):
        return lib.numpy.linalg.solve, (_well_conditioned(count, n), _normal(count, n, 1))

    @table(OPERATIONS, counts, (0,), lambda count, a: lambda: np.linalg.inv(a), f"inverse_{n}_by_{n}")
    def inverse(lib, count):
        return lib.numpy.linalg.inv, (_well_conditioned(count, n),)

    @table(OPERATIONS, counts, (0,), lambda count, a: lambda: np.linalg.det(a), f"determinant_{n}_by_{n}")
    def determinant(lib, count):
        return lib.numpy.linalg.det, (_well_conditioned(count, n),)

    @table(OPERATIONS, counts, (0,), lambda count, a: lambda: np.linalg.cholesky(a), f"cholesky_{n}_by_{n}")
    def cholesky(lib, count):
        return lib.numpy.linalg.cholesky, (_positive(count, n),)


for _n in (2, 3, 4):
    _batched(_n)


@table(OPERATIONS, (10, 1_000, 30_000), (0, 1))
def _triangular_solve(lib, n):
    return lambda a, b: lib.scipy.linalg.solve_triangular(a, b, lower=True), (np.tril(_positive(n, 4)), _normal(n, 4, 1))


@table(OPERATIONS, (10, 1_000, 10_000), (0,), lambda n, a: lambda: np.linalg.eigvalsh(a))
def _eigenvalues_3_by_3(lib, n):
    return lib.numpy.linalg.eigvalsh, (_positive(n, 3),)


@table(OPERATIONS, (32, 128, 512), (0,), lambda n, a: lambda: np.linalg.cholesky(a))
def _cholesky(lib, n):
    return lib.numpy.linalg.cholesky, (_positive(1, n)[0],)


@table(OPERATIONS, (32, 128, 512), (0, 1), lambda n, a, b: lambda: np.linalg.solve(a, b))
def _solve(lib, n):
    return lib.numpy.linalg.solve, (_normal(n, n) + n * np.eye(n, dtype=np.float32), _normal(n))


@table(OPERATIONS, (4, 32, 128), (0,))
def _expm(lib, n):
    return lib.scipy.linalg.expm, (_normal(n, n) / np.float32(n**0.5),)


@table(OPERATIONS, (10, 100, 300), (0, 1))
def _cdist(lib, n):
    return lambda x, y: lib.numpy.sqrt(((x[:, None] - y[None]) ** 2).sum(-1) + 1e-6), (_normal(n, 16), _normal(n + 1, 16))


@table(OPERATIONS, _SHORTER, (0, 1), lambda n, x, y: lambda: np.cross(x, y))
def _cross(lib, n):
    return lib.numpy.cross, (_normal(n, 3), _normal(n, 3))


@table(OPERATIONS, (10, 1_000, 30_000), (0, 1), lambda n, x, y: lambda: x @ y)
def _matmul_3_by_3(lib, n):
    return lambda x, y: x @ y, (_normal(n, 3, 3), _normal(n, 3, 3))


# Fourier transforms, images, windows


@table(OPERATIONS, (1_024, 32_768, 1_048_576), (), lambda n, x: lambda: np.fft.fft(x))
def _fft(lib, n):
    return lib.numpy.fft.fft, (_normal(n).astype(np.complex64),)


@table(OPERATIONS, (1_024, 32_768, 1_048_576), (0,), lambda n, x: lambda: np.fft.irfft(np.fft.rfft(x)))
def _rfft_irfft(lib, n):
    return lambda x: lib.numpy.fft.irfft(lib.numpy.fft.rfft(x)), (_normal(n),)


@table(OPERATIONS, (16, 128, 512), (0,), lambda n, x: lambda: np.abs(np.fft.fft2(x)))
def _fft2(lib, n):
    return lambda x: lib.numpy.abs(lib.numpy.fft.fft2(x)), (_normal(n, n),)


@table(OPERATIONS, (8, 32, 128), (0,))
def _resize_bilinear(lib, n):
    return lambda x: lib.image.resize(x, (4, 2 * n, 2 * n, 3), "bilinear"), (_normal(4, n, n, 3),)


@table(OPERATIONS, (8, 32, 128), (0,))
def _resize_nearest(lib, n):
    return lambda x: lib.image.resize(x, (4, 2 * n, 2 * n, 3), "nearest"), (_normal(4, n, n, 3),)


@table(OPERATIONS, (8, 32, 128), (0,))
def _max_pool(lib, n):
    def pool(x):
        return lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return pool, (_normal(8, n, n, 16),)


@table(OPERATIONS, (8, 32, 64), (0,))
def _max_pool_overlapping(lib, n):
    def pool(x):
        return lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return pool, (_normal(8, n, n, 16),)


@table(OPERATIONS, (8, 32, 128), (0,))
def _average_pool(lib, n):
    def pool(x):
        return lib.lax.reduce_window(x, 0.0, lib.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return pool, (_normal(8, n, n, 16),)


@table(OPERATIONS, _SHORTER, (0,))
def _moving_sum(lib, n):
    return lambda x: lib.lax.reduce_window(x, 0.0, lib.lax.add, (51,), (1,), "SAME"), (_normal(n),)


# Special functions


def _special(name: str, low: float, high: float, sizes: tuple[int, int, int] = _LENGTHS) -> None:
    """Enters a function of one argument of `scipy.special`."""

    @table(OPERATIONS, sizes, (0,), lambda n, x: lambda: _scipy(name)(x), name)
    def make(lib, n):
        return getattr(lib.scipy.special, name), (_uniform(low, high, n),)


_special("erfinv", -0.999, 0.999)
_special("erf", -3, 3)
_special("erfc", -3, 6)
_special("ndtri", 0.001, 0.999)
_special("log_ndtr", -8, 3)
_special("digamma", 0.1, 30)
_special("gammaln", 0.1, 30)
_special("gamma", 0.1, 10)
_special("i0e", -10, 10)
_special("i1e", -10, 10)
_special("expi", 0.1, 10, sizes=_SHORTER)
_special("exp1", 0.1, 10, sizes=_SHORTER)
_special("spence", 0.1, 10)


@table(OPERATIONS, _SHORTER, (1,), lambda n, a, x: lambda: _scipy("gammainc")(a, x))
def _igamma(lib, n):
    return lib.scipy.special.gammainc, (_uniform(0.5, 20, n), _uniform(0.1, 30, n)[::-1].copy())


@table(OPERATIONS, _SHORTER, (1,), lambda n, a, x: lambda: _scipy("gammaincc")(a, x))
def _igammac(lib, n):
    return lib.scipy.special.gammaincc, (_uniform(0.5, 20, n), _uniform(0.1, 30, n)[::-1].copy())


@table(OPERATIONS, _SHORTER, (2,), lambda n, a, b, x: lambda: _scipy("betainc")(a, b, x))
def _betainc(lib, n):
    return lib.scipy.special.betainc, (_uniform(0.5, 20, n), _uniform(0.5, 10, n)[::-1].copy(), np.roll(_uniform(0.01, 0.99, n), 7))


@table(OPERATIONS, _SHORTER, (1,), lambda n, k, x: lambda: _scipy("polygamma")(k, x))
def _polygamma(lib, n):
    return lib.scipy.special.polygamma, (np.int32(1), _uniform(0.1, 30, n))


@table(OPERATIONS, _SHORTER, (), lambda n, x, q: lambda: _scipy("zeta")(x, q))
def _zeta(lib, n):
    return lib.scipy.special.zeta, (_uniform(1.5, 10, n), _uniform(0.5, 10, n)[::-1].copy())


@table(OPERATIONS, (100, 1_000, 10_000), ())
def _bessel_jn(lib, n):
    return lambda z: lib.scipy.special.bessel_jn(z, v=5, n_iter=30), (_uniform(0.5, 10, n),)


@table(OPERATIONS, _LENGTHS, (0,))
def _gelu(lib, n):
    return lib.nn.gelu, (_normal(n),)


@table(OPERATIONS, _LENGTHS, (0, 1), lambda n, x, y: lambda: np.logaddexp(x, y))
def _logaddexp(lib, n):
    return lib.numpy.logaddexp, (_normal(n), _normal(n)[::-1].copy())


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.tanh(x))
def _tanh(lib, n):
    return lib.numpy.tanh, (_normal(n),)


@table(OPERATIONS, _LENGTHS, (0,), lambda n, x: lambda: np.power(x, np.float32(2.5)))
def _power(lib, n):
    return lambda x: x**2.5, (_uniform(0.1, 3, n),)
