"""Eager calls on the host give the bits of the compiled programs, and programs that are called often are compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from laminax_ir.reference.exact_programs import exact_program
from laminax_runtime.base.options import enable_compilation_cache
from laminax_runtime.compiling import compile as compiling

import laminax
import laminax.numpy as jnp
from laminax import lax, nn, random
from laminax._src.compiling import host_programs
from laminax._src.compiling.host_programs import MOST_CALLS, eager_on_host
from laminax._src.compiling.recent_programs import recent_programs

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 3.4028235e38, 1e-30, 1 / 3,
           16777217.0]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the programs that are compiled from now on, none of which is known from before."""
    laminax.clear_caches()
    names: list[str] = []
    original = compiling._compile_and_load

    def noted(text: str, *args: Any) -> Any:
        names.append(text.split("module @")[1].split()[0])
        return original(text, *args)

    monkeypatch.setattr(compiling, "_compile_and_load", noted)
    with enable_compilation_cache(False):
        yield names


def both_ways(call: Callable[[], Any]) -> list[bytes]:
    """The bits of a call's result, with the host and without."""
    results = []
    for is_on in (True, False):
        laminax.clear_caches()
        with eager_on_host(is_on):
            results.append(b"".join([np.asarray(x).tobytes() for x in laminax.tree.leaves(call())]))
    return results


BINARY = [lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.ge]
UNARY = [lax.neg, lax.abs, lax.sqrt, lax.square, lax.sign, lax.is_finite, lambda x: lax.integer_pow(x, 2), lambda x: x.astype(jnp.float32)]


@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_binary_operations_have_the_compilers_bits(operation: Callable, dtype: Any, rng: np.random.Generator) -> None:
    if dtype == np.float32:
        drawn = np.array([*SPECIAL, *rng.normal(size=40), *(rng.normal(size=40) * 10.0 ** rng.integers(-38, 38, size=40))])
        pairs = [(a, b) for a in SPECIAL for b in SPECIAL]
    else:
        drawn = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size=100)
        pairs = [(drawn[i], drawn[-i]) for i in range(10)]
    for x, y in [(drawn, rng.permutation(drawn)), (drawn[-30:], drawn[:30]), (drawn[20:60], rng.permutation(drawn[20:60]))]:
        assert len(set(both_ways(lambda: operation(x.astype(dtype), y.astype(dtype))))) == 1  # noqa: B023 - called at once
    with eager_on_host(False):
        whole = [np.asarray(operation(np.full(3, a, dtype), np.full(3, b, dtype))) for a, b in pairs]
    laminax.clear_caches()
    for (a, b), expected in zip(pairs, whole):  # those that the host refuses are compiled
        exact = exact_program(laminax.make_jaxpr(operation)(np.full(3, a, dtype), np.full(3, b, dtype)))
        found = None if exact is None else exact.run([np.full(3, a, dtype), np.full(3, b, dtype)])
        assert found is None or found[0].tobytes() == expected.tobytes(), (a, b)


@pytest.mark.parametrize("operation", UNARY)
def test_unary_operations_have_the_compilers_bits(operation: Callable, rng: np.random.Generator) -> None:
    for values in (SPECIAL, rng.normal(size=100), np.abs(rng.normal(size=33)) * 1e-30):
        x = jnp.asarray(np.array(values, np.float32))
        assert len(set(both_ways(lambda: operation(x)))) == 1  # noqa: B023 - called at once


CALLS: dict[str, Callable[[Any], Any]] = {
    "python numbers": lambda x: [x * 2.5, 2 + x, x / 3, 1 / (x + 4), x - 7, x > 0, -x, x ** 2],
    "moves": lambda x: [x.T, x[1], x[:, ::2], x[::-1], x.reshape(-1), jnp.stack([x, x]), jnp.concatenate([x, x], 1), jnp.pad(x, 1)],
    "made": lambda x: [jnp.zeros((3, 4)), jnp.arange(10), jnp.arange(5.0), jnp.eye(4), jnp.full((3,), 2.5), jnp.ones_like(x)],
    "chosen": lambda x: [jnp.where(x > 0, x, 0.0), jnp.clip(x, -1, 1), jnp.maximum(x, 0), jnp.isfinite(x), jnp.all(x > 0)],
    "unpacked": lambda x: [*x, x[-1, 2], x[jnp.array(1)]],
    "fused": lambda x: [x * 3 + 1, jnp.mean(x), jnp.var(x), jnp.linspace(0, 1, 7), jnp.outer(x[0], x[1])],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_compilers_bits_and_types(name: str, rng: np.random.Generator) -> None:
    x, types = jnp.asarray(rng.normal(size=(4, 6)), jnp.float32), []
    assert len(set(both_ways(lambda: CALLS[name](x)))) == 1
    for is_on in (True, False):
        laminax.clear_caches()
        with eager_on_host(is_on):
            types.append([(y.aval, y.weak_type, y.sharding, y.committed) for y in CALLS[name](x)])
    assert types[0] == types[1]


DRAWS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "uniform": random.uniform,
    "uniform between": lambda key, shape: random.uniform(key, shape, minval=-0.37, maxval=1.3),
    "normal": random.normal,
    "truncated_normal": lambda key, shape: random.truncated_normal(key, -2, 2, shape),
    "truncated_normal of floats": lambda key, shape: random.truncated_normal(key, -1.7, 2.1, shape),
    "bernoulli": lambda key, shape: random.bernoulli(key, 0.3, shape),
    "bits": random.bits,
    "randint": lambda key, shape: random.randint(key, shape, 0, 17),
    "logistic": random.logistic,
    "gumbel": random.gumbel,
    "exponential": random.exponential,
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_the_compilers_bits(name: str) -> None:
    for shape in [(), (7,), (64, 10), (3, 3, 4, 32), (1000, 3)]:
        for seed in (1,):
            assert len(set(both_ways(lambda: DRAWS[name](random.key(seed), shape)))) == 1  # noqa: B023 - called at once


def test_keys_have_the_compilers_bits() -> None:
    def keys() -> list[Any]:
        key = random.key(3)
        return [random.key_data(random.split(key, 5)), random.key_data(random.fold_in(key, 9)), random.split(random.PRNGKey(1)),
                random.key_data(random.split(random.split(key, 3)[1], (2, 2)))]

    assert len(set(both_ways(keys))) == 1


def test_a_program_that_is_called_often_is_compiled(compiled: list[str]) -> None:
    x = jnp.asarray(np.arange(3.0, dtype=np.float32))
    for _ in range(MOST_CALLS):
        y = x * 2.5
    assert "jit_mul" not in compiled
    for _ in range(3):
        y = x * 2.5
    assert compiled.count("jit_mul") == 1
    np.testing.assert_array_equal(y, np.arange(3) * 2.5)


def test_initialisers_compile_no_hashes(compiled: list[str]) -> None:
    keys = random.split(random.key(0), 4)
    weights = [laminax.nn.initializers.uniform()(key, (5, 6)) for key in keys]
    assert compiled == ["jit__standard_uniform"]  # of the bits: the keys and the hashes are NumPy's
    assert len({np.asarray(w).tobytes() for w in weights}) == 4


@pytest.mark.parametrize("is_on", [True, False])
def test_the_option_turns_it_off(compiled: list[str], is_on: bool) -> None:
    with eager_on_host(is_on):
        jnp.ones(3) + jnp.ones(3)
    assert ("jit_add" in compiled) is not is_on


def test_subnormal_numbers_and_nans_are_the_compilers(compiled: list[str]) -> None:
    x = jnp.asarray(np.array([1e-40, 1.0], np.float32))
    np.testing.assert_array_equal(np.asarray(x * 1.0)[1], 1.0)
    assert compiled.count("jit_mul") == 1


def test_a_product_and_a_sum_are_compiled_together(compiled: list[str]) -> None:
    """The compiler rounds them once: NumPy would round twice."""
    @laminax._src.compiling.fusion.fused
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y + z

    x = jnp.asarray(np.array([1 + 2**-12], np.float32))
    f(x, x, -jnp.ones(1))
    assert len([name for name in compiled if name.endswith("_f")]) == 1


def test_results_are_no_views_of_their_arguments() -> None:
    laminax.clear_caches()
    x = jnp.asarray(np.arange(6.0, dtype=np.float32))
    y = x.reshape(2, 3)
    laminax.jit(lambda x: x + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(y, np.arange(6).reshape(2, 3))


def test_a_deleted_argument_is_named_as_ever() -> None:
    laminax.clear_caches()
    x = jnp.ones(3)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        x * 2.0
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.where(x > 0, x, 0.0)


def test_a_committed_argument_commits_the_result() -> None:
    laminax.clear_caches()
    assert (laminax.device_put(np.ones(3, np.float32), laminax.devices()[0]) * 2.0).committed
    assert not (jnp.ones(3) * 2.0).committed


def test_wide_types_stay_wide() -> None:
    with laminax.enable_x64(True):
        laminax.clear_caches()
        x = jnp.asarray(np.arange(3, dtype=np.float64))
        assert (x * 0.1).dtype == np.float64
        np.testing.assert_array_equal(x * 0.1, np.arange(3) * 0.1)
        assert (jnp.arange(3) + 2**40).dtype == np.int64


def test_results_can_be_donated():
    """They were NumPy's memory once, which no program may write to."""
    x = jnp.ones(1024)
    address = x.unsafe_buffer_pointer()
    assert laminax.jit(lambda x: x + 1, donate_argnums=0)(x).unsafe_buffer_pointer() == address


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 5), (64, 3), (64, 5), (300,), (32, 32), (31, 33), (1025,), (3, 3, 16, 32)])
def test_draws_between_bounds_have_the_compilers_bits(shape):
    """A product and the sum that follows it are rounded at once in some kernels, and not in others."""
    found = []
    for is_on in (True, False):
        laminax.clear_caches()
        with eager_on_host(is_on):
            keys = [random.key(seed) for seed in range(3)]
            found.append([np.asarray(draw(key)).tobytes() for key in keys for draw in (
                lambda key: random.truncated_normal(key, -2.0, 2.0, shape), lambda key: random.uniform(key, shape, minval=-0.3, maxval=1.7),
                lambda key: random.normal(key, shape),
                lambda key: nn.initializers.lecun_normal()(key, shape if len(shape) > 1 else (4, 5)))])
    assert found[0] == found[1]


@pytest.mark.parametrize("shape, is_split", [((), False), ((64, 5), False), ((4, 32), False), ((32, 32), True), ((3, 3, 16, 32), True)])
def test_draws_of_long_rows_between_bounds_are_hashed_on_the_host(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...],
                                                                  is_split: bool) -> None:
    found = []

    class Noted(host_programs.HostProgram):
        def run(self, args: Any) -> Any:
            found.append(self._rest is not None)
            return super().run(args)

    laminax.clear_caches()
    monkeypatch.setattr(host_programs, "HostProgram", Noted)
    random.truncated_normal(random.key(0), -2.0, 2.0, shape).block_until_ready()
    laminax.clear_caches()
    assert any(found) == is_split


@pytest.mark.parametrize("operation, name", [(lax.neg, "jit_neg"), (lambda x: jnp.clip(x, 0, 1), "jit__clip")])
def test_calls_of_a_compiled_program_stay_in_cpp(compiled: list[str], monkeypatch: pytest.MonkeyPatch, operation: Callable, name: str):
    """The first calls were sent to Python, which C++ remembers until it is told otherwise."""
    x = jnp.arange(3.0)
    for _ in range(MOST_CALLS + 4):
        operation(x)
    assert compiled == [name]
    noted: list[Any] = []
    monkeypatch.setattr(recent_programs, "note", lambda owner, key: noted.append(key) or True)
    for _ in range(8):
        operation(x)
    assert not noted
