"""`jit`: which calls trace again, what the arguments may be, and what becomes of buffers, weak types, keys and constants."""

import functools
import gc
import warnings
import weakref
from collections import namedtuple

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import errors, random


class Counted:
    """A function that counts how often it is traced."""

    def __init__(self, fun):
        self.fun = fun
        self.count = 0
        functools.update_wrapper(self, fun)

    def __call__(self, *args, **kwargs):
        self.count += 1
        return self.fun(*args, **kwargs)


def floats(*values):
    return jnp.array(values, dtype=jnp.float32)


# --- the documents' examples ---


def test_selu_example():
    @laminax.jit
    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    for key in (random.key(0), random.PRNGKey(0)):
        x = np.asarray(random.normal(key, (10,)))
        with np.errstate(over="ignore"):
            expected = 1.05 * np.where(x > 0, x, 1.67 * np.exp(x) - 1.67)
        np.testing.assert_allclose(selu(random.normal(key, (10,))), expected, rtol=1e-5)


def test_partial_example():
    @functools.partial(laminax.jit, static_argnames=["n"])
    def g(x, n):
        for _ in range(n):
            x = x ** 2
        return x

    assert repr(g(jnp.arange(4), 3)) == "Array([   0,    1,  256, 6561], dtype=int32)"


def test_options_can_be_given_in_a_decorator():
    @laminax.jit(static_argnames="n")
    def scaled(x, n):
        return x * n

    np.testing.assert_array_equal(scaled(floats(1, 2), n=3), [3, 6])


def test_a_flag_as_static_argument_and_a_scale_that_is_traced():  # the comparison in SciPy's notes on jax_autojit
    fun = Counted(lambda x, y, plus: x + y if plus else x - y)
    f = laminax.jit(fun, static_argnames="plus")
    assert float(f(3.0, 1.0, plus=True)) == 4 and float(f(3.0, 1.0, plus=False)) == 2
    assert float(f(3.0, 2.0, plus=True)) == 5
    assert fun.count == 2  # once for each value of the flag, and not for each value of y


# --- static arguments ---


def test_a_static_argument_traces_once_per_value():
    fun = Counted(lambda x, n: x * n)
    f = laminax.jit(fun, static_argnums=1)
    assert [float(f(2.0, n)) for n in (3, 3, 4, 3)] == [6, 6, 8, 6]
    assert fun.count == 2


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": (1,)}, {"static_argnums": [-1]},
                                     {"static_argnames": "n"}, {"static_argnames": ("n",)},
                                     {"static_argnums": 1, "static_argnames": "n"}])
def test_static_by_position_and_by_name(options):
    def f(x, n=2):
        assert isinstance(n, int)
        return x * n

    jitted = laminax.jit(f, **options)
    assert float(jitted(2.0)) == 4
    assert float(jitted(2.0, n=3)) == 6
    if options != {"static_argnums": [-1]}:  # the last of the arguments given, as in JAX
        assert float(jitted(2.0, 3)) == 6


def test_a_static_keyword_only_argument():
    f = laminax.jit(lambda x, *, negate: -x if negate else x, static_argnames="negate")
    assert (float(f(1.0, negate=True)), float(f(1.0, negate=False))) == (-1, 1)


def test_a_static_argument_behind_a_star():
    f = laminax.jit(lambda *xs: xs[0] * len(range(xs[1])), static_argnums=1)
    assert float(f(2.0, 3)) == 6


def test_equal_static_objects_share_a_trace_and_equal_numbers_of_other_types_do_not():
    class Scale:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            return self.value == other.value

    fun = Counted(lambda scale, x: x * scale.value)
    f = laminax.jit(fun, static_argnums=0)
    assert [float(f(Scale(s), 1.0)) for s in (2, 2, 3)] == [2, 2, 3]
    assert fun.count == 2
    kinds = laminax.jit(lambda s: jnp.float32(len(type(s).__name__)), static_argnums=0)
    assert [float(kinds(s)) for s in (1, True, 1.0)] == [3, 4, 5]


def test_static_arguments_beside_dynamic_ones_keep_their_places():
    f = laminax.jit(lambda a, n, b, m: (a * n, b * m), static_argnums=(1, 3))
    np.testing.assert_array_equal(f(1.0, 2, 3.0, 4), (2, 12))
    np.testing.assert_array_equal(f(1.0, 2, b=3.0, m=4), (2, 12))


@pytest.mark.parametrize("call", [lambda f: f(1.0, [1]), lambda f: f(1.0, n=[1])])
def test_an_unhashable_static_argument_is_a_value_error(call):
    with pytest.raises(ValueError, match="Non-hashable static arguments.*list"):
        call(laminax.jit(lambda x, n: x, static_argnames="n"))


@pytest.mark.parametrize("options, error, message", [
    ({"static_argnums": 3}, ValueError, r"static_argnums=\(3,\), but f only accepts 2 positional"),
    ({"static_argnums": -3}, ValueError, r"static_argnums=\(-3,\)"),
    ({"donate_argnums": 2}, ValueError, r"donate_argnums=\(2,\)"),
    ({"static_argnames": "z"}, ValueError, "'z'.*static_argnames.*takes x, y"),
    ({"donate_argnames": "z"}, ValueError, "'z'.*donate_argnames"),
    ({"static_argnums": "x"}, TypeError, "static_argnums must be an int or a collection of ints"),
    ({"static_argnames": 3}, TypeError, "static_argnames must be a string"),
    ({"static_argnums": 0, "donate_argnums": 0}, ValueError, "static_argnames and donate_argnames cannot intersect.*'x'"),
    ({"keep_unused": "yes"}, TypeError, "keep_unused must be a bool"),
    ({"inline": 1}, ValueError, "Invalid inline option: 1"),
    ({"abstracted_axes": "n"}, TypeError, "abstracted_axes must be a dict"),
    ({"device": object()}, TypeError, "device"),
    ({"in_shardings": "data"}, TypeError, "in_shardings leaf specifications are expected to be"),
])
def test_wrong_options(options, error, message):
    def f(x, y):
        return x

    with pytest.raises(error, match=message):
        laminax.jit(f, **options)


def test_wrong_options_of_platforms():
    with pytest.raises(ValueError, match="both a device and a backend"):
        laminax.jit(lambda x: x, device=laminax.devices()[0], backend="cpu")
    with pytest.raises(errors.PlatformError, match="nonsense"):
        laminax.jit(lambda x: x, backend="nonsense")


@pytest.mark.parametrize("fun, message", [
    (3, "jit: Expected a callable value, got 3 of type int"),
    (classmethod(abs), "Expected a callable value, got <classmethod"),
    (staticmethod(abs), "staticmethod arguments are not supported.*write @staticmethod above it"),
    (lambda x: (yield x), "got a generator function.*Return a list or a tuple"),
])
def test_what_cannot_be_jitted_is_refused_at_once(fun, message):
    with pytest.raises(TypeError, match=message):
        laminax.jit(fun)


def test_what_a_dropped_function_closed_over_dies_at_once():
    big = jnp.ones(10)
    f = laminax.jit(functools.partial(lambda values: values + 1, big))
    f(), f()
    watched = weakref.ref(big)
    gc.disable()
    try:
        del big, f
        assert watched() is None  # without waiting for the garbage collector
    finally:
        gc.enable()


def test_names_of_arguments_that_go_by_position_only():
    """No keyword can be meant: that of `**options` would be another one."""
    def f(x, /, y, *rest, **options): ...
    for name in ("x", "rest"):
        with pytest.raises(ValueError, match=f"'{name}'.*donate_argnames. f does not take these args by name"):
            laminax.jit(f, donate_argnames=("y", name))
    laminax.jit(f, donate_argnames=("y", "anything"))


# --- what is a function ---


class Model:
    def __init__(self, scale):
        self.scale = scale

    @functools.partial(laminax.jit, static_argnums=0)
    def scaled(self, x):
        return x * self.scale

    @staticmethod
    @laminax.jit
    def one_more(x):
        return x + 1

    @classmethod
    @functools.partial(laminax.jit, static_argnums=0)
    def named(cls, x):
        return x + len(cls.__name__)

    def plain(self, x):
        return x - self.scale


def test_methods():
    model = Model(2.0)
    assert float(model.scaled(3.0)) == 6
    assert float(Model.one_more(1.0)) == float(model.one_more(1.0)) == 2
    assert float(Model.named(1.0)) == float(model.named(1.0)) == 6
    assert float(laminax.jit(model.plain)(3.0)) == float(laminax.jit(model.plain)(3.0)) == 1
    assert laminax.jit(model.plain).__name__ == "plain"


def test_callable_objects_also_those_without_hash():
    class Plain:
        def __call__(self, x):
            return x + 1

    class Unhashable(Plain):
        __hash__ = None

    for cls in (Plain, Unhashable):
        f = laminax.jit(cls())
        assert float(f(1.0)) == float(f(1.0)) == 2


def test_partial_objects_and_builtins():
    f = laminax.jit(functools.partial(lambda a, x, k: a * x + k, 2.0, k=floats(1, 2)))
    np.testing.assert_array_equal(f(3.0), [7, 8])
    assert float(laminax.jit(sum)([1.0, 2.0])) == 3


def test_jitted_functions_look_like_the_function():
    def documented(x):
        """Says what it does."""
        return x

    f = laminax.jit(documented)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("documented", "Says what it does.", documented)
    f.note = 1  # a writable attribute
    assert f.note == 1


def test_nested_jit_traces_the_inner_function_once():
    inner = Counted(lambda x: x * 2)
    g = laminax.jit(inner)
    f = laminax.jit(lambda x: g(x) + g(x) + g(x + 1))
    assert float(f(floats(3)[0])) == 20
    assert inner.count == 1


def test_jit_of_jit_and_of_static_jit():
    g = laminax.jit(lambda x, n: x * n, static_argnums=1)
    assert float(laminax.jit(laminax.jit(lambda x: x))(2.0)) == 2
    assert float(laminax.jit(g, static_argnums=1)(2.0, 3)) == 6


def test_recursion():
    @functools.partial(laminax.jit, static_argnums=1)
    def doubled(x, n):
        return x if n == 0 else doubled(x * 2, n - 1)

    assert float(doubled(1.0, 4)) == 16


def test_inline_leaves_no_call():
    def names(**options):
        g = laminax.jit(lambda x: x * 2, **options)
        return [eqn.primitive.name for eqn in laminax.make_jaxpr(lambda x: g(x))(1.0).eqns]

    assert names(inline=laminax.Inline.JAX_EARLY) == ["mul"]
    for inline in (True, False, *set(laminax.Inline) - {laminax.Inline.JAX_EARLY}):
        assert names(inline=inline) == ["jit"]


@pytest.mark.parametrize("inline", [True, *laminax.Inline])
def test_where_a_function_is_inlined(inline):
    double = laminax.jit(lambda x: laminax.numpy.sin(x) * 2, inline=inline)
    program = laminax.jit(lambda x: double(x) + double(x + 1)).lower(1.0)
    calls = [line for line in program.as_text().splitlines() if " call @" in line]
    kept = inline in (laminax.Inline.XLA_EARLY, laminax.Inline.XLA_LATE)
    assert len(calls) == (2 if kept or inline is laminax.Inline.AUTO else 0)
    assert all(f'inlineable = "{inline.value}"' in line for line in calls) if kept else not any("inlineable" in line for line in calls)
    np.testing.assert_allclose(program.compile()(1.0), 2 * np.sin(1) + 2 * np.sin(2), rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(lambda x: double(double(x)))(0.3), 4 * np.cos(2 * np.sin(0.3)) * np.cos(0.3), rtol=1e-6)


def test_calling_a_jitted_function_while_another_is_traced():
    f = laminax.jit(lambda x: x * 2)

    @laminax.jit
    def outer(x):
        return f(x) + jnp.sum(f(np.ones(2, np.float32)))

    assert float(outer(1.0)) == 6


# --- arguments and results ---


def test_pytrees_keywords_and_none():
    Pair = namedtuple("Pair", "first second")
    f = laminax.jit(lambda p, scale=None, **rest: Pair(p.first if scale is None else p.first * scale, {"b": p.second, **rest}))
    for _ in range(2):
        assert f(Pair(1.0, None)) == Pair(1.0, {"b": None})
        assert f(Pair(1.0, (2.0,)), scale=3.0, z=4.0) == Pair(3.0, {"b": (2.0,), "z": 4.0})
    assert laminax.jit(lambda: None)() is None
    assert laminax.jit(lambda x: ((), {}))(1.0) == ((), {})


def test_the_order_of_keywords_does_not_matter():
    f = laminax.jit(lambda **kwargs: kwargs["a"] - kwargs["b"])
    assert float(f(a=3.0, b=1.0)) == float(f(b=1.0, a=3.0)) == 2
    assert f._cache_size() == 1


@pytest.mark.parametrize("value", [True, 3, 2.5, 1 + 2j, np.float32(1), np.int8(3), np.bool_(True), np.float16(2), np.uint8(200),
                                   np.arange(3), np.zeros((0, 3), np.float32), np.ones((2, 3), np.complex64)])
def test_values_pass_through(value):
    f = laminax.jit(lambda x: x)
    for _ in range(2):
        result = f(value)
        np.testing.assert_array_equal(np.asarray(result), value)
        assert result.shape == np.shape(value)
        assert result.weak_type == (type(value) in (int, float, complex))


def test_results_that_are_constants_repeat_or_are_arguments():
    f = laminax.jit(lambda x: (x, x, x + 1, 1.0, np.arange(3), True))
    for _ in range(2):
        x, again, more, one, array, true = f(floats(0, 1))
        np.testing.assert_array_equal(x, [0, 1])
        np.testing.assert_array_equal(again, [0, 1])
        np.testing.assert_array_equal(more, [1, 2])
        assert (float(one), one.weak_type, array.tolist(), true.dtype) == (1, True, [0, 1, 2], bool)


def test_a_numpy_argument_can_be_written_to_after_the_call():
    f = laminax.jit(lambda x: x * 1)
    x, results = np.zeros(4096, np.float32), []
    for i in range(5):
        x[:] = i
        results.append(f(x))
    assert [float(r[-1]) for r in results] == [0, 1, 2, 3, 4]


def test_constants_that_a_function_closes_over():
    array, numpy_array = jnp.arange(1000.0), np.arange(4.0, dtype=np.float32)
    f = laminax.jit(lambda x: (x + numpy_array, array * x[0]))
    for _ in range(2):
        first, second = f(np.ones(4, np.float32))
        np.testing.assert_array_equal(first, np.arange(1, 5))
        np.testing.assert_array_equal(second, np.arange(1000))


def test_weak_types_stay_weak_and_have_traces_of_their_own():
    fun = Counted(lambda x: x * 2)
    f = laminax.jit(fun)
    weak, strong = f(1.0), f(np.float32(1))
    assert (weak.weak_type, strong.weak_type, f(weak).weak_type) == (True, False, True)
    assert fun.count == 2


def test_enable_x64_traces_again():
    fun = Counted(lambda x: x + 1)
    f = laminax.jit(fun)
    assert f(1.0).dtype == np.float32
    with laminax.enable_x64(True):
        assert f(1.0).dtype == np.float64
        assert f(1.0).dtype == np.float64
    assert f(1.0).dtype == np.float32
    assert fun.count == 2


def test_random_keys_as_arguments_and_results():
    f = laminax.jit(lambda key: (random.split(key), random.bits(key, (2,))))
    for _ in range(2):
        keys, bits = f(random.key(7))
        old_keys, old_bits = f(random.PRNGKey(7))
        assert keys.shape == (2,) and keys.dtype == random.key(0).dtype
        np.testing.assert_array_equal(random.key_data(keys), old_keys)
        np.testing.assert_array_equal(bits, old_bits)
    key = random.key(3)
    np.testing.assert_array_equal(random.key_data(laminax.jit(lambda: key)()), random.key_data(key))
    np.testing.assert_array_equal(random.key_data(laminax.jit(random.key)(3)), random.key_data(key))


def test_float0_passes_through_and_comes_out_of_gradients():
    zeros = np.zeros(3, laminax.dtypes.float0)
    f = laminax.jit(lambda x, z: (x, z))
    for _ in range(2):
        assert f(1.0, zeros)[1].dtype == laminax.dtypes.float0
    gradients = laminax.jit(laminax.grad(lambda x, i: x * i, argnums=(0, 1), allow_int=True))(1.0, 2)
    assert float(gradients[0]) == 2
    assert gradients[1].dtype == laminax.dtypes.float0 and gradients[1].shape == ()


def test_device_and_backend():
    device = laminax.devices()[0]
    for options in ({"device": device}, {"backend": device.platform}):
        result = laminax.jit(lambda x: x + 1, **options)(1.0)
        assert float(result) == 2 and result.devices() == {device}
    assert laminax.jit(lambda x: x)(laminax.device_put(1.0, device)).committed
    assert not laminax.jit(lambda x: x)(jnp.ones(2)).committed


def test_unused_arguments_are_dropped_unless_kept():
    def parameters(**options):
        text = laminax.jit(lambda x, y: x + 1, **options).lower(1.0, np.ones(3)).as_text()
        return text[text.index("@main("):].split("->")[0].count("%arg")

    assert (parameters(), parameters(keep_unused=True)) == (1, 2)
    assert float(laminax.jit(lambda x, y: x + 1, keep_unused=True)(1.0, 2.0)) == 2


def test_compiler_options():
    f = laminax.jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": True})
    assert float(f(1.0)) == 2
    with pytest.raises(errors.XlaRuntimeError, match="nonsense"):
        laminax.jit(lambda x: x + 2, compiler_options={"nonsense": True})(1.0)


# --- donation ---


def test_a_deleted_argument_is_named():
    x = jnp.ones(3)
    laminax.jit(lambda x: x + 1, donate_argnums=0)(x)
    f = laminax.jit(lambda a, params: a * params["w"])
    for call in (f, f.lower(x, {"w": x}).compile()):
        with pytest.raises(errors.DeletedArrayError, match=r"has been deleted with shape=float32\[3\].*is the argument params\['w'\]"):
            call(jnp.ones(3), {"w": x})


def test_a_donated_array_is_deleted_and_its_use_refused():
    f = laminax.jit(lambda x: x + 1, donate_argnums=0)
    x = floats(0, 1, 2)
    np.testing.assert_array_equal(f(x), [1, 2, 3])
    assert x.is_deleted()
    for use in (lambda: np.asarray(x), lambda: x + 1, lambda: f(x)):
        with pytest.raises((RuntimeError, ValueError), match="deleted"):
            use()


def test_a_donated_argument_that_is_given_twice_is_named():
    f = laminax.jit(lambda x, params: (x + params["w"], params["w"] * 2), donate_argnums=0)
    for _ in range(2):
        x = jnp.ones(3)
        with pytest.raises(errors.XlaRuntimeError, match="(?s)donated in the same call") as caught:
            f(x, {"w": x})
        assert "the arguments x and params['w'] are the same array" in caught.value.__notes__[0]


def test_donation_on_the_fast_path():
    f = laminax.jit(lambda x: x + 1, donate_argnums=0)
    arrays = [floats(0, 0)]
    for _ in range(4):
        arrays.append(f(arrays[-1]))
    assert [x.is_deleted() for x in arrays] == [True] * 4 + [False]
    np.testing.assert_array_equal(arrays[-1], [4, 4])


@pytest.mark.parametrize("options", [{"donate_argnums": 1}, {"donate_argnames": "y"}, {"donate_argnames": ["y"]}])
@pytest.mark.parametrize("by_name", [False, True])
def test_donation_by_position_and_by_name(options, by_name):
    x, y = {"a": floats(1, 2)}, {"a": floats(1, 2), "b": [floats(1, 2, 3)]}
    f = laminax.jit(lambda x, y: (y["b"][0] * 2, x["a"] + y["a"]), **options)
    f(x, y=y) if by_name else f(x, y)
    assert (x["a"].is_deleted(), y["a"].is_deleted(), y["b"][0].is_deleted()) == (False, True, True)


def test_donation_beside_static_arguments_and_of_numpy_arrays():
    f = laminax.jit(lambda n, x: x * n, static_argnums=0, donate_argnums=1)
    x, values = floats(1, 2), np.ones(2, np.float32)
    np.testing.assert_array_equal(f(2, x), [2, 4])
    assert x.is_deleted()
    np.testing.assert_array_equal(f(2, values), [2, 2])
    np.testing.assert_array_equal(values, [1, 1])


def test_a_donated_buffer_is_reused_for_a_result_of_as_many_bytes():
    values = np.arange(24, dtype=np.float32)
    f = laminax.jit(lambda x, y: (x.reshape(4, 6) * 2, y.sum()), donate_argnums=(0,))
    x = laminax.device_put(values)
    made, _ = f(x, jnp.ones(3))
    assert x.is_deleted()
    np.testing.assert_array_equal(made, 2 * values.reshape(4, 6))


def test_a_donation_that_no_result_can_use_is_warned_of_once_at_the_users_line():
    f = laminax.jit(jnp.sum, donate_argnums=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(floats(1, 2, 3))
        f(floats(1, 2, 3))
    assert len(caught) == 1
    assert "Some donated buffers were not usable: float32[3]" in str(caught[0].message)
    assert caught[0].filename == __file__


# --- several functions, several traces ---


def test_cache_sizes_and_clearing():
    fun = Counted(lambda x: x + 1)
    f = laminax.jit(fun)
    f(1.0), f(np.float32(1)), f(1.0)
    assert (f._cache_size(), fun.count) == (2, 2)
    f.clear_cache()
    assert f._cache_size() == 0
    f(1.0)
    assert fun.count == 3
    laminax.clear_caches()
    f(1.0)
    assert fun.count == 4


def test_jit_of_the_same_function_again_shares_traces():
    fun = Counted(lambda x: x + 1)
    laminax.jit(fun)(1.0), laminax.jit(fun)(1.0), laminax.jit(fun, keep_unused=True)(1.0)
    assert fun.count == 1


def test_large_containers():
    values = {f"k{i}": float(i) for i in range(300)}
    f = laminax.jit(lambda d: {k: v + 1 for k, v in d.items()})
    assert {k: float(v) for k, v in f(values).items()} == {k: v + 1 for k, v in values.items()}


def test_functions_of_any_name_compile():
    def δ(x):
        return x + 1

    assert laminax.jit(δ)(1.0) == 2.0
    assert laminax.jit(lambda x: laminax.jit(δ)(x) * laminax.jit(δ)(2 * x))(1.0) == 6.0


def test_compiler_options_are_for_the_outermost_function():
    inner = laminax.jit(lambda x: x * 2, compiler_options={"xla_cpu_enable_fast_math": True})
    assert inner(1.0) == 2
    with pytest.raises(ValueError, match=r"jit\(<lambda>\): `compiler_options` can only be passed to top-level `jax.jit`; got "
                                         r".*xla_cpu_enable_fast_math"):
        laminax.jit(lambda x: inner(x))(1.0)
