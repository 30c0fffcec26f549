"""laminax.extend: what libraries need below the functions: programs, traces, wrapped functions, keys, positions."""

import functools

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.extend import backend, core, linear_util, random, source_info_util
from laminax.extend.core import primitives

AVAL = laminax.core.ShapedArray((3,), np.dtype(np.float32))


def test_a_program_is_built_by_hand():
    new = core.gensym()
    x, y = new(AVAL), new(AVAL)
    eqn = core.new_jaxpr_eqn([x, core.Literal(2.0, laminax.core.get_aval(2.0))], [y], primitives.mul_p, {}, core.no_effects)
    jaxpr = core.Jaxpr([], [x], [y], [eqn])
    core.check_jaxpr(jaxpr)
    run = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, []))
    np.testing.assert_array_equal(run(np.float32([1, 2, 3]))[0], [2, 4, 6])


def test_programs_in_programs_are_found():
    jaxpr = laminax.make_jaxpr(lambda x: laminax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0).jaxpr
    assert len(list(core.subjaxprs(jaxpr))) == 2
    cond = next(eqn for eqn in jaxpr.eqns if eqn.primitive is primitives.cond_p)
    assert list(core.jaxprs_in_params(cond.params)) == list(core.subjaxprs(jaxpr))


def test_avals():
    wide = core.unmapped_aval(5, 1, AVAL)
    assert wide.shape == (3, 5) and core.mapped_aval(5, 1, wide) is AVAL and core.mapped_aval(5, None, AVAL) is AVAL
    assert AVAL.inc_rank(size=5, spec=1) is wide and wide.dec_rank(size=5, spec=1) is AVAL and AVAL.inc_rank(5, spec=None) is AVAL
    with pytest.raises(ValueError, match="does not have size 4"):
        core.mapped_aval(4, 0, AVAL)
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.int32)) == laminax.dtypes.float0
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.float32)) == np.float32
    assert core.valid_jaxtype(1.0) and core.valid_jaxtype(np.ones(2)) and not core.valid_jaxtype("one")
    assert not any(core.valid_jaxtype(np.zeros(2, dtype)) for dtype in (object, "U3", [("i", "i4"), ("f", "f4")]))
    assert type(jnp.ones(1)) in core.array_types and np.float32 in core.array_types


def test_concrete_values_are_forced():
    assert core.concrete_or_error(int, jnp.float32(3)) == 3
    with pytest.raises(laminax.errors.ConcretizationTypeError, match=r"f32\[\] is traced. the number of steps"):
        laminax.jit(lambda n: core.concrete_or_error(int, n, "the number of steps"))(1.0)
    assert issubclass(laminax.errors.ConcretizationTypeError, laminax.errors.JAXTypeError)
    assert issubclass(laminax.errors.NonConcreteBooleanIndexError, laminax.errors.JAXIndexError)


def test_what_trace_one_is_under():
    seen = []

    def look(x):
        seen.append((core.unsafe_am_i_under_a_jit_DO_NOT_USE(), core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                     core.unsafe_get_axis_names_DO_NOT_USE(), core.nonempty_axis_env_DO_NOT_USE()))
        return x
    look(1.0)
    laminax.jit(look)(1.0)
    laminax.vmap(look, axis_name="i")(jnp.ones(2))
    laminax.jit(laminax.vmap(look))(jnp.ones(2))
    assert seen == [(False, False, [], False), (True, False, [], False), (False, True, ["i"], True), (True, True, [], False)]


def test_trace_states_compare():
    outside, inside = core.get_opaque_trace_state(), []
    assert outside == core.get_opaque_trace_state(convention="flax")
    laminax.jit(lambda x: inside.extend([core.get_opaque_trace_state(), core.get_opaque_trace_state()]))(1.0)
    assert inside[0] != outside  # their trace has ended, and two that have ended are not the same
    laminax.jit(lambda x: inside.append(core.get_opaque_trace_state() == core.get_opaque_trace_state()))(1.0)
    assert inside[-1] is True


def test_the_current_trace_is_taken_and_given_back():
    def f(x):
        with core.take_current_trace() as trace:
            n = int(jnp.sum(jnp.arange(4)))  # a value, not a tracer
            with core.set_current_trace(trace):
                y = x * n
        return y
    np.testing.assert_array_equal(laminax.jit(f)(2.0), 12)
    with laminax.core.eval_context():
        assert int(jnp.arange(3)[-1]) == 2
    assert laminax.core.max_dim(2, 3) == 3 and laminax.core.min_dim(2, 3) == 2


# --- wrapped functions ---


def test_transformations_stack():
    def scale(fun, factor, *args):
        return [factor * x for x in fun(*args)]

    def count(fun, store, *args):
        results = fun(*args)
        store.store(len(results))
        return results
    fun = linear_util.wrap_init(lambda x, y, z=0: [x + z, y], {"z": 10})
    fun = linear_util.transformation2(scale, fun, 2)
    fun, number = linear_util.transformation_with_aux2(count, fun)
    with pytest.raises(linear_util.StoreException, match="Store empty"):
        number()
    assert fun.call_wrapped(1, 2) == [22, 4] and number() == 2
    with pytest.raises(linear_util.StoreException, match="Store occupied"):
        fun.call_wrapped(1, 2)


def test_transformations_are_decorators_too():
    @linear_util.transformation2
    def scaled(fun, factor, *args):
        return [factor * x for x in fun(*args)]

    @linear_util.transformation_with_aux2
    def counted(fun, store, *args):
        results = fun(*args)
        store.store(len(results))
        return results

    fun, number = counted(scaled(linear_util.wrap_init(lambda x, y: [x, y]), 3))
    assert fun.call_wrapped(1, 2) == [3, 6] and number() == 2


def test_functions_have_the_names_of_what_they_wrap():
    class Callable:
        def __call__(self):
            return []

    names = [linear_util.wrap_init(f).__name__ for f in (abs, functools.partial(functools.partial(abs)), Callable())]
    assert names == ["abs", "abs", "<unnamed wrapped function>"]


def test_transformations_by_generators():
    @linear_util.transformation
    def add(n, *args):
        result = yield (tuple(x + n for x in args), {})
        yield [2 * r for r in result]

    @linear_util.transformation_with_aux
    def first(*args):
        result = yield args, {}
        yield result, result[0]
    base = linear_util.wrap_init(lambda x, y: [x, y])
    with_first, aux = first(base)
    assert add(base, 3).call_wrapped(1, 2) == [8, 10] and with_first.call_wrapped(5, 6) == [5, 6] and aux() == 5
    assert add(base, 3) == add(base, 3) and add(base, 3) != add(base, 4) and hash(add(base, 3)) == hash(add(base, 3))


def test_one_of_two_stores():
    full, empty, other = linear_util.Store(), linear_util.Store(), linear_util.Store()
    full.store("a")
    other.store("b")
    read = lambda store: lambda: store.val  # noqa: E731
    assert linear_util.merge_linear_aux(read(full), read(empty)) == (True, "a")
    assert linear_util.merge_linear_aux(read(empty), read(other)) == (False, "b")
    with pytest.raises(linear_util.StoreException, match="both stores occupied"):
        linear_util.merge_linear_aux(read(full), read(other))


def test_results_are_remembered_with_what_was_stored():
    calls = []

    @linear_util.cache
    def trace(fun, n):
        calls.append(n)
        return fun.call_wrapped(n)

    def keep(fun, store, *args):
        result = fun(*args)
        store.store(result + 1)
        return result
    double = lambda x: 2 * x  # noqa: E731
    for _ in range(2):
        fun, aux = linear_util.transformation_with_aux2(keep, linear_util.wrap_init(double))
        assert trace(fun, 3) == 6 and aux() == 7
    assert calls == [3]
    assert trace(linear_util.wrap_init(double), 3) == 6 and calls == [3, 3]


# --- the rest ---


def test_random_numbers():
    words = random.threefry_2x32((np.uint32(0x13198a2e), np.uint32(0x03707344)), np.array([0x243f6a88, 0x85a308d3], np.uint32))
    np.testing.assert_array_equal(words, np.array([0xc4923a9c, 0x483df7a0], np.uint32))  # a known answer of Random123
    assert random.threefry_2x32((np.uint32(0), np.uint32(1)), np.arange(5, dtype=np.uint32)).shape == (5,)
    for impl, name in ((random.threefry_prng_impl, "threefry2x32"), (random.rbg_prng_impl, "rbg")):
        key = random.seed_with_impl(impl, 7)
        np.testing.assert_array_equal(laminax.random.key_data(key), laminax.random.key_data(laminax.random.key(7, impl=name)))
    keys = random.random_seed(np.array([1, 7]), random.threefry_prng_impl)
    np.testing.assert_array_equal(laminax.random.key_data(keys)[1], laminax.random.key_data(laminax.random.key(7)))


def test_backends():
    client = backend.get_backend("cpu")
    assert client.platform == "cpu" and backend.get_backend(client) is client and client in backend.backends().values()
    assert backend.get_default_device() in laminax.devices()


def test_positions():
    def work(x):
        return jnp.sin(x)
    eqn = laminax.make_jaxpr(work)(1.0).eqns[0]
    assert "test_extend_core.py" in source_info_util.summarize(eqn.source_info)
    assert source_info_util.summarize(source_info_util.new_source_info()) == ""
    assert "test_positions" in source_info_util.summarize(source_info_util.current())
    with pytest.raises(NotImplementedError, match="num_frames must be 1, got 3"):
        source_info_util.summarize(eqn.source_info, num_frames=3)


def test_the_version():
    assert laminax.version.__version__ == laminax.__version__
    assert laminax.__version_info__ >= (0, 5, 1)  # libraries for JAX compare it before they use newer names


def test_calls_of_functions_and_of_programs():
    closed = laminax.make_jaxpr(lambda x, y: (x * y, x + 1))(1.0, 2.0)
    fun = linear_util.wrap_init(lambda x, y: [x * y, x + 1])

    def by_program(x):
        return sum(primitives.closed_call_p.bind(x, 3.0, call_jaxpr=closed))

    def by_function(x):
        return sum(primitives.call_p.bind(fun, x, 3.0, name="both"))

    def by_open_program(x):
        return sum(primitives.call_p.bind(x, 3.0, call_jaxpr=closed.jaxpr, name="open"))

    def by_program_of_constants(x):
        program = laminax.make_jaxpr(lambda y: (table[0] * y, table[0] + 1))(2.0)
        assert len(program.jaxpr.constvars) == 1
        return sum(primitives.call_p.bind(jnp.stack([x, x]), 3.0, call_jaxpr=program.jaxpr))

    table = jnp.float32([5, 6])
    for f in (by_program, by_function, by_open_program, by_program_of_constants):
        assert f(2.0) == 9 and laminax.grad(f)(2.0) == 4
        np.testing.assert_array_equal(laminax.vmap(f)(np.arange(3.0, dtype=np.float32)), [1, 5, 9])
        assert primitives.jit_p in {eqn.primitive for eqn in laminax.make_jaxpr(f)(2.0).eqns}
    assert laminax.make_jaxpr(by_function)(2.0).eqns[0].params["name"] == "both"
    for wrong in (lambda: primitives.call_p.bind(fun, 2.0, 3.0, call_jaxpr=closed), lambda: primitives.call_p.bind(2.0, 3.0),
                  lambda: primitives.call_p.bind()):
        with pytest.raises(TypeError, match="call: .*function .*call_jaxpr"):
            wrong()


@pytest.mark.parametrize("name",
                         "slice_p dynamic_slice_p dynamic_update_slice_p device_put_p sharding_constraint_p stack_p stage_p".split())
def test_operations_of_lax_are_among_the_primitives(name):
    """Slices were missing after their operations had moved to a module of their own."""
    assert getattr(primitives, name) is getattr(lax, name) and primitives.tridiagonal_p is lax.linalg.tridiagonal_p
