"""`jit`, one test for each sentence of its documentation, in the order of the document.

Expected numbers are NumPy's. `test_jit.py` has more of each option, `test_abstracted_axes.py` of sizes as names.
"""

import functools
import gc
import inspect
import os
import subprocess
import sys
import textwrap
import weakref
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import jit


class Counted:
    """A function of two arguments, x and n, that counts how often it is traced."""

    def __init__(self):
        self.traces = 0

    def __call__(self, x, n=1):
        self.traces += 1
        return x * n


def traced_shapes(fun, *args, **kwargs):
    return str(laminax.make_jaxpr(fun)(*args, **kwargs))


# --- fun ---


def test_fun_is_compiled_with_xla():
    compiled = jit(lambda x: jnp.sin(x) + 1).lower(np.ones(3, np.float32)).compile()
    assert "HloModule" in compiled.as_text() and "sine" in compiled.as_text()


def test_fun_should_be_pure():
    """Its side effects happen when it is traced, and not again."""
    seen = []
    f = jit(lambda x: seen.append(1) or x + 1)
    assert [float(f(x)) for x in (1.0, 2.0, 3.0)] == [2, 3, 4] and seen == [1]


def test_arguments_and_return_value_are_arrays_scalars_or_containers():
    Point = namedtuple("Point", "x y")
    tree = {"a": [np.arange(3), (1.5, True)], "b": Point(2j, None)}
    out = jit(lambda t: t)(tree)
    assert type(out["b"]) is Point and out["b"].y is None
    for got, expected in zip(laminax.tree.leaves(out), laminax.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(TypeError, match="not a valid JAX type: .text.. Return arrays, scalars or containers"):
        jit(lambda x: "text")(1.0)


@dataclass(frozen=True)
class Config:
    width: int
    name: str


def test_positional_arguments_that_are_static_can_be_any_hashable_type():
    f = jit(lambda config, scale, x: scale(x) * config.width, static_argnums=(0, 1))
    np.testing.assert_allclose(f(Config(3, "wide"), jnp.sin, np.float32(2)), 3 * np.sin(np.float32(2)), rtol=1e-6)


def test_hash_and_equality_of_static_arguments_are_used_for_the_key():
    traced = Counted()
    f = jit(lambda x, config: traced(x, config.width), static_argnums=1)
    assert [float(f(2.0, Config(width, "a"))) for width in (3, 3, 4, 3)] == [6, 6, 8, 6]
    assert traced.traces == 2  # equal values share an entry, though they are different objects
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        f(2.0, [3])


def test_a_weak_reference_to_fun_is_kept():
    def f(x):
        return x + 1

    alive = weakref.ref(f)
    jit(f)(1.0)
    del f
    gc.collect()
    assert alive() is None


def test_fun_that_is_not_weakly_referenceable_is_taken_too():
    """The document asks for one that is; here another function is made that calls it."""
    class Slotted:
        __slots__ = ()

        def __call__(self, x):
            return x + 1

    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(Slotted())
    assert float(jit(Slotted())(1.0)) == 2


# --- shardings ---


def on_two_devices(program):
    """Runs a program in a process with two devices."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "LAMINAX_", "XLA_"))}
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_PREAMBLE) + textwrap.dedent(program)], capture_output=True, text=True,
        env={**inherited, "PYTHONPATH": path, "LAMINAX_NUM_CPU_DEVICES": "2", "LAMINAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr


_PREAMBLE = """
    import numpy as np
    import laminax
    import laminax.numpy as jnp
    from laminax import jit
    from laminax.sharding import Mesh, NamedSharding, PartitionSpec as P
    mesh = Mesh(np.array(laminax.devices()), ("x",))
    split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    """


def test_in_shardings_are_a_prefix_and_arguments_must_be_compatible():
    on_two_devices("""
        f = jit(lambda tree, y: tree["a"] + tree["b"] + y, in_shardings=(split, whole))
        x = np.arange(4.0)
        np.testing.assert_array_equal(f({"a": x, "b": x}, x), 3 * x)
        assert all(s == split for s in f.lower({"a": x, "b": x}, x).compile().input_shardings[0][0].values())
        try:
            f({"a": laminax.device_put(x, whole), "b": x}, x)
        except ValueError as error:
            assert "a" in str(error)
        else:
            raise AssertionError("an argument that is laid out otherwise was taken")
        """)


def test_without_in_shardings_they_are_those_of_the_arguments():
    on_two_devices("""
        x = laminax.device_put(np.arange(4.0), split)
        assert jit(lambda x: x * 2)(x).sharding.is_equivalent_to(split, 1)
        """)


def test_out_shardings_are_as_constraints_on_the_result():
    on_two_devices("""
        x = np.arange(4.0)
        f = jit(lambda x: (x * 2, {"b": x}), out_shardings=(split, whole))
        g = jit(lambda x: tuple(laminax.lax.with_sharding_constraint(a, s) for a, s in ((x * 2, split), ({"b": x}, whole))))
        for out in (f(x), g(x)):
            assert out[0].sharding.is_equivalent_to(split, 1) and out[1]["b"].sharding.is_equivalent_to(whole, 1)
            np.testing.assert_array_equal(out[0], 2 * x)
        """)


# --- static arguments ---


def test_static_argnums_are_constants_while_tracing():
    assert "mul a 3.0:f32[]" in traced_shapes(lambda x: jit(lambda x, n: x * n if n else x, static_argnums=1)(x, 3.0), 1.0)
    assert float(jit(lambda n, x: sum([x] * n), static_argnums=0)(4, 2.0)) == 8  # an int, and a collection of ints:
    assert float(jit(lambda n, m, x: x * range(10)[n] * m, static_argnums=[0, 1])(4, 2, 2.0)) == 16


def test_other_values_of_static_arguments_compile_again():
    traced = Counted()
    f = jit(traced, static_argnums=1)
    for n in (1, 2, 1, 2):
        f(3.0, n)
    assert traced.traces == 2 and f._cache_size() == 2


def test_arguments_that_are_no_arrays_must_be_static():
    with pytest.raises(TypeError, match=r"(?s)argument to <lambda> as an abstract array.*path mode.*static_argnums or static_argnames"):
        jit(lambda x, mode: x)(1.0, "fast")
    assert float(jit(lambda x, mode: x, static_argnames="mode")(1.0, "fast")) == 1


def test_without_static_argnums_and_names_nothing_is_static():
    traced = Counted()
    f = jit(traced)
    assert [float(f(3.0, n)) for n in (1, 2, 3)] == [3, 6, 9] and traced.traces == 1


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnames": ("n",)}])
def test_of_names_and_numbers_one_is_found_from_the_other(options):
    f = jit(lambda x, n: x * 2 if n > 2 else x, **options)
    assert float(f(3.0, 5)) == float(f(3.0, n=5)) == 6


def test_with_names_and_numbers_the_signature_is_not_looked_at():
    f = jit(lambda x, n, m: (x, n, m), static_argnums=1, static_argnames="m")
    assert [type(a).__name__ for a in f(1.0, 2, m=3)] == ["Array"] * 3
    with pytest.raises(TypeError, match="path n"):
        f(1.0, n="text", m=3)  # not listed by name


def test_only_parameters_that_are_listed_are_static():
    seen = []

    def f(x, n, m):
        seen.append((isinstance(n, int), isinstance(m, int)))
        return x

    jit(f, static_argnums=1, static_argnames="m")(1.0, 2, m=3)
    jit(f, static_argnums=1, static_argnames="m")(1.0, n=2, m=3)
    assert seen == [(True, True), (False, True)]


# --- donation ---


def donated(f, *args, **kwargs):
    """Which of the arguments have been deleted by a call."""
    arrays = [jnp.arange(4.0) + i for i in range(len(args) + len(kwargs))]
    f(*arrays[:len(args)], **dict(zip(kwargs, arrays[len(args):])))
    return [x.is_deleted() for x in arrays]


def test_donated_buffers_are_marked_deleted_and_refused():
    f = jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(4.0)
    address = x.unsafe_buffer_pointer()
    y = f(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() == address  # the result is where the argument was
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        f(x)


def test_by_default_nothing_is_donated():
    assert donated(jit(lambda x, y: (x + 1, y + 1)), 0, 0) == [False, False]


@pytest.mark.parametrize("options", [{"donate_argnums": 1}, {"donate_argnames": "y"}, {"donate_argnums": [1]}])
def test_of_donated_names_and_numbers_one_is_found_from_the_other(options):
    f = jit(lambda x, y: (x + 1, y + 1), **options)
    assert donated(f, 0, 0) == donated(f, 0, y=0) == [False, True]


def test_with_donated_names_and_numbers_the_signature_is_not_looked_at():
    f = jit(lambda x, y, z: (x + 1, y + 1, z + 1), donate_argnums=0, donate_argnames="z")
    assert donated(f, 0, y=0, z=0) == [True, False, True] and donated(f, 0, 0, 0) == [True, False, False]


# --- other options ---


def test_unused_arguments_are_dropped_unless_kept():
    dropped, kept = (jit(lambda x, y: x + 1, keep_unused=keep).lower(1.0, np.ones(3)).as_text() for keep in (False, True))
    assert "tensor<3x" not in dropped and "tensor<3x" in kept
    assert "tensor<3x" not in jit(lambda x, y: x + 1).lower(1.0, np.ones(3)).as_text()


def test_device_and_backend():
    device = laminax.devices()[0]
    assert jit(lambda x: x, device=device)(1.0).devices() == {device}
    assert jit(lambda x: x, backend="cpu")(1.0).devices() == {laminax.devices("cpu")[0]}
    assert jit(lambda x: x)(1.0).devices() == {device}


def test_inline_is_whether_the_function_becomes_part_of_the_program():
    """Of the compiled one; with `Inline.JAX_EARLY` of the caller's, as the document says of True."""
    for options, calls in (({"inline": True}, 0), ({"inline": False}, 2), ({}, 2), ({"inline": laminax.Inline.JAX_EARLY}, 0)):
        inner = jit(lambda x: jnp.sin(jnp.cos(x)) * x, **options)
        outer = jit(lambda x: inner(inner(x)))
        assert outer.lower(np.ones(3)).as_text().count("call @") == calls, options
        names = [eqn.primitive.name for eqn in laminax.make_jaxpr(lambda x: inner(inner(x)))(1.0).eqns]
        assert ("jit" in names) == (options.get("inline") is not laminax.Inline.JAX_EARLY)


def test_abstracted_axes():
    traced = Counted()
    f = jit(lambda x: traced(x.sum(), x.shape[0]), abstracted_axes={0: "n"})
    for n in (1, 4, 9):
        np.testing.assert_allclose(f(np.arange(n, dtype=np.float32)), np.arange(n).sum() * n)
    assert traced.traces == 1 and "f32[n]" in str(f.trace(np.ones(3, np.float32)).jaxpr)


def test_a_wrapped_version_of_fun_is_returned():
    def f(x: float, /, scale=2.0):
        """Scales."""
        return x * scale

    g = jit(f)
    assert (g.__name__, g.__doc__, g.__wrapped__) == ("f", "Scales.", f) and inspect.signature(g) == inspect.signature(f)
    assert all(hasattr(g, name) for name in ("lower", "trace", "eval_shape", "clear_cache"))


# --- examples ---


def test_selu_example():
    @laminax.jit
    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * laminax.numpy.where(x > 0, x, alpha * laminax.numpy.exp(x) - alpha)

    key = laminax.random.key(0)
    x = laminax.random.normal(key, (10,))
    reference = np.asarray(x, np.float64)
    np.testing.assert_allclose(selu(x), 1.05 * np.where(reference > 0, reference, 1.67 * np.exp(reference) - 1.67), rtol=1e-5)
    reductions = [eqn.primitive.name for eqn in laminax.make_jaxpr(selu)(x).eqns]
    assert reductions == ["jit"]


def test_selu_is_a_single_fused_kernel():
    selu = jit(lambda x, alpha=1.67, lmbda=1.05: lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha))
    text = selu.lower(np.ones(10, np.float32)).compile().as_text()
    entry = text[text.index("ENTRY"):]
    assert entry.count(" fusion(") == 1 and entry.count(" exponential(") == 0


def test_partial_example():
    @functools.partial(laminax.jit, static_argnames=["n"])
    def g(x, n):
        for i in range(n):
            x = x ** 2
        return x

    out = g(jnp.arange(4), 3)
    np.testing.assert_array_equal(out, [0, 1, 256, 6561])
    assert out.dtype == np.int32 and repr(out) == "Array([   0,    1,  256, 6561], dtype=int32)"
