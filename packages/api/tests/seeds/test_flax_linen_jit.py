"""`flax.linen.jit`, one test for each sentence of its documentation, of `laminax.linen.jit`.

Expected numbers are NumPy's, or those of the module without `jit`.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import laminax as lx
import laminax.numpy as jnp
from laminax import linen as nn

KEY = lx.random.key(0)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Dense(nn.Module):
    features: int = 4

    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", lx.nn.initializers.lecun_normal(), (x.shape[-1], self.features))
        return x @ kernel


class Log:
    """What was traced; equal to itself only."""

    def __init__(self):
        self.entries = []

    def append(self, entry):
        self.entries.append(entry)

    def __iter__(self):
        return iter(self.entries)

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, i):
        return self.entries[i]


class Traced(nn.Module):
    """Counts how often its method is traced."""
    log: Log
    collection: str = "params"

    @nn.compact
    def __call__(self, x, scale=1.0, *, mode="plain"):
        self.log.append((scale, mode))
        weight = self.variable(self.collection, "weight", jnp.ones, ())
        return x * weight.value * scale


def test_signature():
    assert str(inspect.signature(nn.jit)).replace("'", "") == (
        "(target: Any, variables: Filter = True, rngs: Filter = True, static_argnums: int | Iterable[int] = (), "
        "static_argnames: str | Iterable[str] = (), donate_argnums: int | Iterable[int] = (), device: Any = None, "
        "backend: str | None = None, methods: Any = None) -> Any")


def test_lifted_version_of_jit():
    """"Lifted version of jax.jit.": the module computes what it computes without, and is compiled."""
    variables = Dense().init(KEY, X)
    jitted = nn.jit(Dense)()
    np.testing.assert_array_equal(jitted.apply(variables, X), Dense().apply(variables, X))
    np.testing.assert_allclose(jitted.apply(variables, X), X @ np.asarray(variables["params"]["kernel"]), rtol=1e-6)
    program = str(lx.make_jaxpr(lambda variables: jitted.apply(variables, X))(variables))
    assert "jit[" in program


def test_target_is_a_module():
    """"target - a Module": a class, whose instances have the fields, names and variables of the class."""
    JitDense = nn.jit(Dense)
    assert JitDense.__name__ == "JitDense" and issubclass(JitDense, Dense)
    variables = JitDense(features=5).init(KEY, X)
    assert variables["params"]["kernel"].shape == (3, 5)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.jit(Dense)(2)(x)
    assert list(Model().init(KEY, X)["params"]) == ["JitDense_0"]


def test_target_is_a_function_of_a_module():
    """"or a function taking a Module as its first argument."""
    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            dense = Dense(name="inner")
            return nn.jit(lambda dense, x: dense(x) + 1)(dense, x)
    y, variables = Model().init_with_output(KEY, X)
    np.testing.assert_allclose(y, X @ np.asarray(variables["params"]["inner"]["kernel"]) + 1, rtol=1e-5)


def test_target_is_a_method():
    class Model(nn.Module):
        @nn.jit
        @nn.compact
        def __call__(self, x):
            return Dense(name="inner")(x)
    y, variables = Model().init_with_output(KEY, X)
    np.testing.assert_allclose(y, X @ np.asarray(variables["params"]["inner"]["kernel"]), rtol=1e-6)


def test_target_is_neither():
    with pytest.raises(nn.errors.TransformTargetError, match="Modules classes or functions"):
        nn.jit(Dense())


def test_variables_that_are_lifted():
    """"variables - The variable collections that are lifted.": others do not exist within."""
    log = Log()
    variables = {"params": {"weight": 2.0}, "other": {"weight": 3.0}}
    np.testing.assert_allclose(nn.jit(Traced, variables="params")(log).apply(variables, X), 2 * X)
    np.testing.assert_allclose(nn.jit(Traced, variables="other")(log, "other").apply(variables, X), 3 * X)
    with pytest.raises(Exception, match='"weight" from collection "other"'):
        nn.jit(Traced, variables="params")(log, "other").apply(variables, X)


def test_by_default_all_collections_are_lifted():
    """"By default all collections are lifted.": read, initialized and changed."""
    class Counter(nn.Module):
        @nn.jit
        @nn.compact
        def __call__(self, x):
            count = self.variable("counts", "n", lambda: jnp.zeros((), int))
            count.value += 1
            return x * self.param("scale", lambda key: jnp.full((), 2.0))
    variables = Counter().init(KEY, X)
    assert int(variables["counts"]["n"]) == 1
    for calls in (2, 3):
        y, updates = Counter().apply(variables, X, mutable=["counts"])
        np.testing.assert_allclose(y, 2 * X)
        assert int(updates["counts"]["n"]) == calls
        variables |= updates


class Noise(nn.Module):
    stream: str = "noise"

    def __call__(self, x):
        return x + lx.random.normal(self.make_rng(self.stream), x.shape)


def test_rngs_that_are_lifted():
    """"rngs - The PRNG sequences that are lifted."""
    rngs = {"noise": KEY, "other": lx.random.key(1)}
    both = nn.jit(Noise)().apply({}, X, rngs=rngs)
    np.testing.assert_array_equal(nn.jit(Noise, rngs="noise")().apply({}, X, rngs=rngs), both)
    with pytest.raises(Exception, match='needs PRNG for "noise"'):
        nn.jit(Noise, rngs="other")().apply({}, X, rngs=rngs)


def test_by_default_all_prng_sequences_are_lifted():
    """"By default all PRNG sequences are lifted."""
    rngs = {"noise": KEY, "other": lx.random.key(1)}
    noise, other = (nn.jit(Noise)(stream).apply({}, X, rngs=rngs) for stream in ("noise", "other"))
    assert not np.array_equal(noise, other)


@pytest.mark.parametrize("argnums", [2, (2,), [2], {2}], ids=str)
def test_static_argnums(argnums):
    """"An int or collection of ints specifying which positional arguments to treat as static": the module is argument 0."""
    log = Log()
    jitted = nn.jit(Traced, static_argnums=argnums)(log)
    np.testing.assert_allclose(jitted.apply({"params": {"weight": 1.0}}, X, 3), 3 * X)
    assert list(log) == [(3, "plain")]  # a Python int, no tracer


@pytest.mark.parametrize("options, error, words", [
    ({"static_argnums": "x"}, TypeError, "static_argnums must be an int or a collection of ints"),
    ({"static_argnums": -9}, ValueError, r"static_argnums=\(-9,\) of Dense.__call__, which takes 2 positional arguments"),
    ({"donate_argnums": -9}, ValueError, r"donate_argnums=\(-9,\) of Dense.__call__"),
    ({"static_argnames": 3}, TypeError, "static_argnames must be a string or a collection of strings"),
    ({"methods": "missing"}, AttributeError, "missing")])
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        nn.jit(Dense, **options)


def test_operations_on_static_arguments_are_python():
    """"Operations that only depend on static arguments will be constant-folded in Python (during tracing), and so the corresponding
    argument values can be any Python object."""
    class Choose(nn.Module):
        def __call__(self, x, how):
            return {"double": x + x, "square": x * x}[how.lower()]
    jitted = nn.jit(Choose, static_argnums=2)()
    np.testing.assert_allclose(jitted.apply({}, X, "SQUARE"), X * X)
    np.testing.assert_allclose(jitted.apply({}, X, "double"), X + X)


def test_static_arguments_should_be_hashable():
    """"Static arguments should be hashable, meaning both __hash__ and __eq__ are implemented, and immutable."""
    with pytest.raises(ValueError, match="unhashable|hashable"):
        nn.jit(Traced, static_argnums=2)(Log()).apply({"params": {"weight": 1.0}}, X, [3])


def test_different_static_values_trigger_recompilation():
    """"Calling the jitted function with different values for these constants will trigger recompilation."""
    log = Log()
    jitted = nn.jit(Traced, static_argnums=2)(log)
    for scale in (1, 2, 1, 2):
        jitted.apply({"params": {"weight": 1.0}}, X, scale)
    assert [scale for scale, _ in log] == [1, 2]


def test_fewer_arguments_than_static_argnums():
    """"If the jitted function is called with fewer positional arguments than indicated by static_argnums then an error is raised."""
    class Power(nn.Module):
        def __call__(self, x, n):
            return x ** n
    with pytest.raises(TypeError, match="'n'"):
        nn.jit(Power, static_argnums=2)().apply({}, X)


def test_arguments_that_are_not_arrays_must_be_static():
    """"Arguments that are not arrays or containers thereof must be marked as static."""
    with pytest.raises(TypeError, match="static_argnums or static_argnames"):
        nn.jit(Traced)(Log()).apply({"params": {"weight": 1.0}}, X, "three")


def test_static_argnums_default_to_none():
    """"Defaults to ().": numbers are traced."""
    log = Log()
    nn.jit(Traced)(log).apply({"params": {"weight": 1.0}}, X, 3.0)
    assert isinstance(log[0][0], lx.core.Tracer)


@pytest.mark.parametrize("names", ["mode", ("mode",), ["mode"]], ids=str)
def test_static_argnames(names):
    """"An optional string or collection of strings specifying which named arguments to treat as static (compile-time constant)."""
    log = Log()
    jitted = nn.jit(Traced, static_argnames=names)(log)
    for mode in ("a", "b", "a"):
        jitted.apply({"params": {"weight": 1.0}}, X, mode=mode)
    assert [mode for _, mode in log] == ["a", "b"]


def test_static_argnames_are_inferred_from_static_argnums():
    """"If not provided but static_argnums is set, the default is based on calling inspect.signature(fun) to find corresponding named
    arguments."""
    log = Log()
    nn.jit(Traced, static_argnums=2)(log).apply({"params": {"weight": 1.0}}, X, scale=3)
    assert log[0][0] == 3 and isinstance(log[0][0], int)


def test_static_argnums_are_inferred_from_static_argnames():
    log = Log()
    nn.jit(Traced, static_argnames="scale")(log).apply({"params": {"weight": 1.0}}, X, 3)
    assert isinstance(log[0][0], int)


def test_donated_arguments_are_overwritten():
    """"Specify which arguments are "donated" to the computation.", and "You should not reuse buffers that you donate to a computation,
    JAX will raise an error if you try to."""
    class Add(nn.Module):
        def __call__(self, x, y):
            return x + y
    x, y = jnp.ones((128,)), jnp.ones((128,))
    np.testing.assert_allclose(nn.jit(Add, donate_argnums=1)().apply({}, x, y), np.full(128, 2.0))
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


def test_memory_of_donated_arguments_is_recycled():
    """"In some cases XLA can make use of donated buffers to reduce the amount of memory needed to perform a computation, for example
    recycling one of your input buffers to store a result."""
    class Add(nn.Module):
        def __call__(self, x, y):
            return x + y
    x = jnp.ones((1024,))
    address = x.unsafe_buffer_pointer()
    y = nn.jit(Add, donate_argnums=(1,))().apply({}, x, jnp.ones((1024,)))
    assert y.unsafe_buffer_pointer() == address


def test_variables_are_never_donated():
    variables = Dense(3).init(KEY, X)
    nn.jit(Dense, donate_argnums=(0, 1))(3).apply(variables, jnp.asarray(X))
    assert not variables["params"]["kernel"].is_deleted()


def test_device():
    """"device - ... the Device the jitted function will run on. (Available devices can be retrieved via jax.devices().)"""
    device = lx.devices()[0]
    y = nn.jit(Dense, device=device)().apply(Dense().init(KEY, X), X)
    assert y.devices() == {device}
    with pytest.raises((TypeError, ValueError), match="device"):
        nn.jit(Dense, device="nowhere")


def test_default_device():
    """"The default is inherited from XLA's DeviceAssignment logic and is usually to use jax.devices()[0]."""
    assert nn.jit(Dense)().apply(Dense().init(KEY, X), X).devices() == {lx.devices()[0]}


def test_backend():
    """"backend - a string representing the XLA backend: 'cpu', 'gpu', or 'tpu'."""
    y = nn.jit(Dense, backend="cpu")().apply(Dense().init(KEY, X), X)
    assert {device.platform for device in y.devices()} == {"cpu"}
    with pytest.raises(Exception, match="nowhere"):
        nn.jit(Dense, backend="nowhere")().apply(Dense().init(KEY, X), X)


class TwoMethods(nn.Module):
    log: Log

    def setup(self):
        self.inner = Dense()

    def encode(self, x):
        self.log.append("encode")
        return self.inner(x)

    def decode(self, x):
        self.log.append("decode")
        return 2 * self.inner(x)

    def __call__(self, x):
        self.log.append("call")
        return self.inner(x)


@pytest.mark.parametrize("methods, compiled", [
    (None, {"__call__"}), ("encode", {"encode"}), (["encode", "decode"], {"encode", "decode"})], ids=str)
def test_methods(methods, compiled):
    """"methods - If target is a Module, the methods of Module to jit."""
    log = Log()
    jitted = nn.jit(TwoMethods, methods=methods)(log)
    variables = TwoMethods(Log()).init(KEY, X)
    plain = np.asarray(TwoMethods(Log()).apply(variables, X))
    for method, factor in (("__call__", 1), ("encode", 1), ("decode", 2)):
        log.entries.clear()
        for _ in range(2):
            np.testing.assert_allclose(jitted.apply(variables, X, method=method), factor * plain, rtol=1e-6)
        assert len(log) == (1 if method in compiled else 2)


def test_methods_with_options_of_their_own():
    class Powers(nn.Module):
        def square(self, x, n):
            return x ** (2 * n)

        def cube(self, x, n):
            return x ** (3 * n)
    jitted = nn.jit(Powers, methods={"square": {"static_argnums": 2}, "cube": {}})()
    np.testing.assert_allclose(jitted.apply({}, X, 2, method="square"), X ** 4)
    np.testing.assert_allclose(jitted.apply({}, X, 1, method="cube"), X ** 3)


def test_returns_a_wrapped_version():
    """"A wrapped version of target, set up for just-in-time compilation."""
    def double(module, x):
        """Twice x."""
        return 2 * x
    assert nn.jit(double).__name__ == "double" and nn.jit(double).__doc__ == "Twice x."
    assert nn.jit(Dense).__doc__ == Dense.__doc__ and nn.jit(Dense).__module__ == Dense.__module__


def test_a_compiled_module_is_not_traced_again():
    log = Log()
    jitted = nn.jit(Traced)(log)
    variables = {"params": {"weight": jnp.ones(())}}
    for _ in range(3):
        jitted.apply(variables, X)
    assert len(log) == 1
    jitted.apply(variables, X[:1])
    assert len(log) == 2


def test_equal_modules_in_one_model_are_traced_once():
    log = Log()
    Layer = nn.jit(Traced)

    class Model(nn.Module):
        def setup(self):
            self.layers = [Layer(log) for _ in range(5)]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    variables = {"params": {f"layers_{i}": {"weight": jnp.full((), i + 1.0)} for i in range(5)}}
    np.testing.assert_allclose(Model().apply(variables, X), 120 * X)
    assert len(log) == 1


def test_modules_with_other_fields_are_not_confused():
    variables = {"params": {"kernel": np.ones((3, 4), np.float32)}}
    jitted = nn.jit(Dense)
    assert jitted(4).apply(variables, X).shape == (2, 4)
    assert jitted(4).apply(variables, X).dtype == np.float32
    with pytest.raises(Exception, match="shape"):
        jitted(5).apply(variables, X)


def test_gradients_through_jit():
    variables = Dense().init(KEY, X)
    gradient = lx.grad(lambda variables: nn.jit(Dense)().apply(variables, X).sum())(variables)
    np.testing.assert_allclose(gradient["params"]["kernel"], np.repeat(X.sum(0)[:, None], 4, 1), rtol=1e-6)
