"""Programs of eager calls: how many are kept, which go first, and that `clear_caches` forgets them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax._src.compiling.host_programs import eager_on_host
from laminax._src.compiling.recent_programs import Owner, RecentPrograms, eager_cache_size, recent_programs


def live() -> int:
    gc.collect()
    return len(laminax.devices()[0].client.live_executables())


@pytest.fixture(autouse=True)
def forgotten():
    """Without the host, which computes the first calls of small programs: those that are compiled are counted here."""
    laminax.clear_caches()
    with eager_on_host(False):
        yield
    laminax.clear_caches()


@pytest.mark.parametrize("operation", [lambda x: x + 1, jnp.sin, jnp.mean, lambda x: -x, lambda x: laminax.lax.cumsum(x)],
                         ids=["operator", "function", "fused", "unary", "operation"])
def test_clear_caches_forgets_the_programs_of_eager_calls(operation):
    """60 new shapes left 60 live programs once."""
    before = laminax.devices()[0].client.live_executables()  # which stay alive while the list does, whoever let them go
    for n in range(20):
        operation(np.ones(n + 3, np.float32) if n % 2 else jnp.ones(n + 3))
    assert live() >= len(before) + 20
    laminax.clear_caches()
    assert live() <= len(before)
    np.testing.assert_allclose(operation(jnp.ones(3)), operation(np.ones(3, np.float32)))  # it is compiled again


@pytest.mark.parametrize("operation", [lambda x: x + 1, jnp.mean], ids=["operator", "fused"])
def test_no_more_programs_are_kept_than_the_option_says(operation):
    operation(jnp.ones(2))
    with eager_cache_size(8):
        before = live()
        for n in range(40):
            operation(laminax.device_put(np.ones(n + 3, np.float32)))
        assert len(recent_programs) <= 8
        assert live() <= before + 8


def test_without_room_nothing_is_kept_and_without_a_limit_everything():
    with eager_cache_size(0):
        before = live()
        for n in range(5):
            np.testing.assert_array_equal(laminax.device_put(np.ones(n + 3, np.float32)) + 1, 2)
        assert len(recent_programs) == 0 and live() <= before
    with eager_cache_size(-1):
        for n in range(5):
            np.testing.assert_array_equal(laminax.device_put(np.ones(n + 3, np.float32)) + 1, 2)
        assert len(recent_programs) == 5


def test_a_program_that_is_used_stays_though_its_uses_are_in_compiled_dispatch():
    compiled = []
    used, others = laminax.device_put(np.ones(101, np.float32)), [laminax.device_put(np.ones(n + 3, np.float32)) for n in range(60)]
    with eager_cache_size(8):
        used * 2
        count = live()
        for x in others:
            x * 2
            before = _compilations()
            used * 2
            compiled.append(_compilations() - before)
        assert count and sum(compiled) == 0


def _compilations() -> int:
    return len(_EVENTS)


_EVENTS: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def listening():
    def listener(event: str, _seconds: float, **_kwargs) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            _EVENTS.append(event)

    laminax.monitoring.register_event_duration_secs_listener(listener)
    yield
    assert _EVENTS  # else there was nothing to count


def test_what_is_used_stays_and_what_is_not_goes():
    table, programs = RecentPrograms(), {}
    in_compiled_dispatch: set[int] = set()
    owner = Owner(programs, in_compiled_dispatch.clear)

    def use(key: int) -> bool:
        """Whether the program was there."""
        was_there = key in programs
        if key not in in_compiled_dispatch:
            programs.setdefault(key)
            if table.note(owner, key):
                in_compiled_dispatch.add(key)
        return was_there

    with eager_cache_size(8):
        use(-1)
        for new in range(100):
            use(new)
            assert use(-1)  # always in use, and so never forgotten
            assert len(table) <= 8 and len(programs) <= 8
    assert set(programs) <= {-1, *range(90, 100)}


@pytest.mark.parametrize("value", [-2, 1.5, True, "many"])
def test_the_option_takes_a_number(value):
    with pytest.raises(ValueError, match="eager_cache_size cannot be .* a number of programs"):
        eager_cache_size(value)


def _scaled_maximum(x, y):
    return jnp.maximum(x, y) * 1.0


def _pairs(x, y):
    return x[0] + y[0], x[1] * y[1]


@pytest.mark.parametrize("call, expected", [
    (lambda x: laminax.lax.reduce(x, -jnp.inf, _scaled_maximum, (0,)), [8.0, 9.0, 10.0, 11.0]),
    (lambda x: laminax.lax.reduce((x, x), (jnp.float32(0), jnp.float32(1)), _pairs, (0,))[1], [0.0, 45.0, 120.0, 231.0]),
    (lambda x: laminax.lax.reduce_window(x, -jnp.inf, _scaled_maximum, (3, 1), (1, 1), "VALID"), [[8.0, 9.0, 10.0, 11.0]]),
    (lambda x: laminax.experimental.sparse.linalg.spsolve(x[1], jnp.arange(4), jnp.arange(5), x[1] * x[2]), [8.0, 9.0, 10.0, 11.0]),
], ids=["reduce", "reduce_pairs", "reduce_window", "spsolve"])
def test_a_call_with_the_functions_of_the_last_call_compiles_nothing(call, expected, caplog):
    """Reductions with a function of one's own were compiled at every call."""
    x = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
    np.testing.assert_allclose(call(x), expected)
    with laminax.log_compiles(), caplog.at_level("WARNING", "laminax"):
        np.testing.assert_allclose(call(x), expected)
    assert not [r.getMessage() for r in caplog.records if "Compiling" in r.getMessage()]


def test_the_function_of_a_reduction_is_traced_again_after_clear_caches():
    count = []

    def maximum(x, y):
        count.append(1)
        return jnp.maximum(x, y)
    for _ in range(2):
        laminax.lax.reduce(jnp.ones(3), -jnp.inf, maximum, (0,))
    assert len(count) == 1
    laminax.clear_caches()
    laminax.lax.reduce(jnp.ones(3), -jnp.inf, maximum, (0,))
    assert len(count) == 2
