"""Exported functions: kept as bytes, called elsewhere, differentiated as far as asked for."""

import collections
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import ShapeDtypeStruct, export, grad, jit, lax, vmap
from laminax.export import DisabledSafetyCheck, deserialize

Pair = collections.namedtuple("Pair", "left right")
Unknown = collections.namedtuple("Unknown", "value")
export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")


def exported(fun, *args, platforms=None, **given):
    return export.export(jit(fun), platforms=platforms, **given)(*args)


def again(e, vjp_order=0):
    data = e.serialize(vjp_order=vjp_order)
    assert isinstance(data, bytearray)
    return deserialize(data)


@pytest.fixture
def x(rng):
    return rng.normal(size=(3, 4)).astype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_function_survives(x):
    e = exported(lambda x, y: jnp.sin(x) @ y, ShapeDtypeStruct((3, 4), np.float32), ShapeDtypeStruct((4,), np.float32))
    y = np.arange(4, dtype=np.float32)
    for f in (e, again(e)):
        assert [a.str_short() for a in f.in_avals] == ["f32[3,4]", "f32[4]"] and f.platforms == ("cpu",)
        assert [a.str_short() for a in f.out_avals] == ["f32[3]"] and f.fun_name == "<lambda>" and f.nr_devices == 1
        assert f.in_shardings_hlo == (None,) * len(f.in_avals) and f.out_shardings_hlo == (None,)
        assert "stablehlo.sine" in f.mlir_module() and "func.func public @main" in f.mlir_module()
        np.testing.assert_allclose(f.call(x, y), np.sin(x) @ y, rtol=1e-5)  # float32 sums of 4


def test_pytrees_keywords_and_static_arguments(x):
    def f(p, n, *, scale):
        return Pair({"a": p.left * scale, "b": [p.right[0] * n, None]}, ())

    e = export.export(jit(f, static_argnums=1))(Pair(x, (x,)), 3, scale=2.0)
    for g in (e, again(e)):
        out = g.call(Pair(x, (x,)), scale=2.0)
        assert isinstance(out, Pair) and out.right == () and out.left["b"][1] is None
        np.testing.assert_allclose(out.left["a"], 2 * x)
        np.testing.assert_allclose(out.left["b"][0], 3 * x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float16", "complex64"])
def test_dtypes(dtype):
    value = np.array([0, 1, 1], dtype)
    e = again(exported(lambda x: (x, jnp.where(x == 0, x, x)), value))
    assert all(out.dtype == value.dtype for out in e.call(value))


def test_weak_types():
    e = again(exported(lambda x: x + 1, 2.0))
    assert e.in_avals[0].weak_type and e.call(3.0).weak_type and float(e.call(3.0)) == 4


def test_keys_and_constants():
    key, table = laminax.random.key(3), jnp.arange(30.0)

    def f(k, i):
        return laminax.random.normal(k, (2,)) + laminax.random.normal(key, (2,)), table[i]

    e = again(exported(f, laminax.random.key(0), 0))
    noise, element = e.call(laminax.random.key(5), 7)
    expected = laminax.random.normal(laminax.random.key(5), (2,)) + laminax.random.normal(key, (2,))
    np.testing.assert_allclose(noise, expected, rtol=1e-6)
    assert float(element) == 7


def test_control_flow_and_linear_algebra(x):
    def f(x):
        positive = x @ x.T + 5 * jnp.eye(3)
        return lax.linalg.cholesky(positive), lax.fori_loop(0, 5, lambda i, a: a * 1.5, x), lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)

    factor, grown, chosen = again(exported(f, x)).call(x)
    np.testing.assert_allclose(factor @ factor.T, x @ x.T + 5 * np.eye(3), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grown, x * 1.5**5, rtol=1e-5)
    np.testing.assert_allclose(chosen, np.sin(x) if x[0, 0] > 0 else np.cos(x), rtol=1e-5)


def test_inside_programs(x):
    """Twice in one module, next to functions of the same names, and inside another exported function."""
    @jit
    def helper(a):
        return jnp.tanh(a) + jnp.cos(a) * 2

    def f(a):
        return helper(a) + helper(a * 2)

    def expected(a):
        return sum(np.tanh(b) + np.cos(b) * 2 for b in (a, a * 2))

    e = again(exported(f, x))

    @jit
    def outer(a):
        return e.call(a) + e.call(helper(a)) + f(a) + helper(a)

    inner = np.tanh(x) + np.cos(x) * 2
    np.testing.assert_allclose(outer(x), expected(x) + expected(inner) + expected(x) + inner, rtol=1e-4)
    nested = again(exported(outer, x))
    np.testing.assert_allclose(nested.call(x), outer(x), rtol=1e-5)
    assert outer.lower(x).as_text().count("func.func private") >= 2


def test_programs_are_equal_bytes_wherever_they_are():
    source = "def f(x):\n    return jnp.sin(x) * 2\n"
    blobs = set()
    for name in ("/home/a/model.py", "/home/b/elsewhere.py"):
        scope = {"jnp": jnp}
        exec(compile(source, name, "exec"), scope)
        blobs.add(bytes(exported(scope["f"], 1.0).serialize()))
    assert len(blobs) == 1 and b"/home" not in blobs.pop()


def test_gradients(x):
    """The derivative of sum(sin(x) * w) with respect to both; of second order, by differentiating once more."""
    w = np.ones((3, 4), np.float32) * 2

    def f(x, w):
        return jnp.sin(x) * w

    e = exported(f, x, w)
    once, twice = again(e, 1), again(e, 2)
    for g in (e, once, twice):
        assert g.has_vjp()
        by_x, by_w = grad(lambda a, b: jnp.sum(g.call(a, b)), (0, 1))(x, w)
        np.testing.assert_allclose(by_x, np.cos(x) * w, rtol=1e-5)
        np.testing.assert_allclose(by_w, np.sin(x), rtol=1e-5)
        inside = jit(grad(lambda a: jnp.sum(g.call(a, w))))(x)
        np.testing.assert_allclose(inside, np.cos(x) * w, rtol=1e-5)
    second = grad(lambda a: jnp.sum(grad(lambda b: jnp.sum(twice.call(b, w)))(a)))(x)
    np.testing.assert_allclose(second, -np.sin(x) * w, rtol=1e-5)
    ct = np.full((3, 4), 3, np.float32)
    np.testing.assert_allclose(once.vjp().call(x, w, ct)[0], 3 * np.cos(x) * w, rtol=1e-5)
    assert not once.vjp().has_vjp() and twice.vjp().has_vjp()


def test_gradients_beside_integers(x):
    e = again(exported(lambda x, n: (x * n, n + 1), x, 3), 1)
    np.testing.assert_allclose(grad(lambda a: jnp.sum(e.call(a, 5)[0]))(x), np.full((3, 4), 5))


def test_no_gradient_was_kept(x):
    e = again(exported(jnp.sin, x))
    assert not e.has_vjp()
    for use in (lambda: e.vjp(), lambda: grad(lambda a: jnp.sum(e.call(a)))(x), lambda: e.serialize(vjp_order=1)):
        with pytest.raises(ValueError, match=r"No VJP is available for the exported function 'sin'.*vjp_order=1"):
            use()


def test_vmap_is_refused(x):
    with pytest.raises(NotImplementedError, match="Batching rule for .call_exported. not implemented"):
        vmap(exported(jnp.sin, x[0]).call)(x)


def test_several_platforms(x):
    e = exported(lambda a: jnp.sin(a) + lax.erf_inv(a / 9), x, platforms=["cpu", "cuda", "tpu"])
    f = again(e)
    assert f.platforms == ("cpu", "cuda", "tpu") and f.uses_global_constants and f.module_kept_var_idx == (0,)
    assert f.mlir_module().count("stablehlo.sine") == 1  # one module, which has what is equal once
    np.testing.assert_allclose(f.call(np.zeros_like(x)), 0, atol=1e-6)


@pytest.mark.parametrize("platforms", [["cpu", "cuda", "tpu"], ["tpu", "rocm", "cpu"]])
def test_what_differs_between_platforms_is_a_branch(x, platforms):
    """Kernels of other platforms' libraries are in the module, and are not met where it runs."""
    def f(a):
        factor = jnp.linalg.cholesky(a @ a.T + 5 * jnp.eye(3))
        return lax.platform_dependent(factor, cpu=jnp.sin, default=jnp.cos), jnp.linalg.svd(a, compute_uv=False)

    e = again(exported(f, x, platforms=platforms), 1)
    assert "stablehlo.case" in e.mlir_module() and "potrf_ffi" in e.mlir_module() and "Eigh" in e.mlir_module()
    factor = np.linalg.cholesky(x @ x.T + 5 * np.eye(3, dtype=np.float32))
    for call in (e.call, jit(e.call), again(exported(e.call, x, platforms=["cpu"])).call,
                 again(exported(e.call, x, platforms=platforms[::-1])).call, again(exported(e.call, x, platforms=platforms)).call):
        out, values = call(x)
        np.testing.assert_allclose(out, np.sin(factor), rtol=1e-5, atol=1e-6)  # float32 of order 3
        np.testing.assert_allclose(values, np.linalg.svd(x)[1], rtol=1e-5)
    of_sum = grad(lambda a: jnp.sum(e.call(a)[1]))(x)
    u, _, vt = np.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(of_sum, u @ vt, rtol=1e-4, atol=1e-5)  # the derivative of the sum of singular values


def test_a_platform_that_the_inner_function_lacks(x):
    inner = again(exported(jnp.sin, x, platforms=["cpu", "tpu"]))
    with pytest.raises(ValueError, match=r"'sin' was exported for platforms \(cpu, tpu\) but it is used on 'cuda'"):
        exported(inner.call, x, platforms=["cpu", "cuda"])


def test_another_platform(x):
    e = again(exported(jnp.sin, x, platforms=["tpu"]))
    with pytest.raises(ValueError, match=r"'sin' was exported for platforms \(tpu\) but it is used on 'cpu'"):
        e.call(x)
    for platforms in (["tpu"], ["tpu", "cuda"]):
        unchecked = again(exported(jnp.sin, x, platforms=platforms, disabled_checks=[DisabledSafetyCheck.platform()]))
        np.testing.assert_allclose(unchecked.call(x), np.sin(x), rtol=1e-5)


def test_kernels_without_guarantees(x):
    """That computes eigenvalues on the host, for which nobody promises anything; JAX refuses it as well."""
    square = np.ones((3, 3), np.float32)
    with pytest.raises(ValueError, match="no compatibility guarantees: .* found 'cuhybrid_eig_real'. Leave the check out"):
        exported(jnp.linalg.eigvals, square, platforms=["cuda"])
    check = DisabledSafetyCheck.custom_call("cuhybrid_eig_real")
    assert "cuhybrid_eig_real" in exported(jnp.linalg.eigvals, square, platforms=["cuda"], disabled_checks=[check]).mlir_module()
    for function in (jnp.linalg.qr, jnp.linalg.eigh, jnp.linalg.svd, jnp.linalg.det):
        exported(function, square, platforms=["cpu", "cuda", "rocm", "tpu"])


@pytest.mark.parametrize("args, message", [
    ((np.ones((3, 5), np.float32),), r"Shape mismatch for args\[0\]\['w'\]\.shape\[1\].*'f'.*takes f32\[3,4\].*called with f32\[3,5\]"),
    ((np.ones((1, 3, 4), np.float32),), r"Rank mismatch for args\[0\]\['w'\].*'f'.*takes f32\[3,4\].*called with f32\[1,3,4\]"),
    ((np.ones((3, 4), np.int32),), r"Dtype mismatch for args\[0\]\['w'\].*takes f32\[3,4\].*called with i32\[3,4\]"),
])
def test_wrong_types(x, args, message):
    def f(p):
        return p["w"]

    e = again(exported(f, {"w": x}))
    with pytest.raises(ValueError, match=message):
        e.call({"w": args[0]})
    with pytest.raises(ValueError, match=message):
        jit(e.call)({"w": args[0]})


@pytest.mark.parametrize("args", [(), ({"w": 1.0, "v": 1.0},), ({"v": 1.0},), (1.0,), ({"w": 1.0}, 2.0)])
def test_wrong_structure(args):
    e = again(exported(lambda p: p["w"], {"w": 1.0}))
    with pytest.raises(ValueError, match="must have the same pytree structure as those that .* was exported for: "):
        e.call(*args)


def test_classes_that_cannot_be_written():
    e = exported(lambda p: p.value, Unknown(1.0))
    with pytest.raises(ValueError, match=r"unregistered type .*Unknown, which is among the "
                                         r"arguments.*export.register_namedtuple_serialization"):
        e.serialize()
    with pytest.raises(TypeError, match="only for dictionaries with string keys, or ints"):
        exported(lambda p: p[1.5], {1.5: 1.0}).serialize()
    with pytest.raises(ValueError, match="has been registered already"):
        export.register_namedtuple_serialization(Unknown, serialized_name="tests.Pair")
    with pytest.raises(ValueError, match="expected a namedtuple class"):
        export.register_namedtuple_serialization(int, serialized_name="tests.int")


def test_classes_registered_by_name():
    @laminax.tree_util.register_pytree_node_class
    class Scaled:
        def __init__(self, value, unit):
            self.value, self.unit = value, unit

        def tree_flatten(self):
            return (self.value,), self.unit

        @classmethod
        def tree_unflatten(cls, unit, children):
            return cls(*children, unit)

    export.register_pytree_node_serialization(
        Scaled, serialized_name="tests.Scaled", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)
    out = again(exported(lambda s: Scaled(s.value * 2, "km"), Scaled(1.0, "m"))).call(Scaled(3.0, "m"))
    assert float(out.value) == 6 and out.unit == "km"


def test_classes_registered_with_functions_only():
    class Interval:
        def __init__(self, low, high, unit):
            self.low, self.high, self.unit = low, high, unit

    laminax.tree_util.register_pytree_node(
        Interval, lambda i: ((i.low, {"high": i.high}), i.unit), lambda unit, children: Interval(children[0], children[1]["high"], unit))
    export.register_pytree_node_serialization(
        Interval, serialized_name="tests.Interval", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)
    out = again(exported(lambda i: Interval(i.high, i.low, i.unit), Interval(1.0, 2.0, "m"))).call(Interval(3.0, 4.0, "m"))
    assert (float(out.low), float(out.high), out.unit) == (4, 3, "m")


def test_a_module_takes_what_the_function_reads(x):
    def f(unused, x, other):
        return jnp.sin(x)

    e = again(exported(f, 1, x, {"a": x}), vjp_order=1)
    assert e.module_kept_var_idx == (1,) and len(e.in_avals) == 3 and "%arg1" not in e.mlir_module()
    np.testing.assert_allclose(e.call(2, x, {"a": x}), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(lambda x, y: e.call(0, x, {"a": y}).sum())(x, x), np.cos(x), rtol=1e-6)
    np.testing.assert_array_equal(laminax.grad(lambda x, y: e.call(0, x, {"a": y}).sum(), 1)(x, x), np.zeros_like(x))
    kept = export.export(jit(f, keep_unused=True))(1, x, {"a": x})
    assert kept.module_kept_var_idx == (0, 1, 2) and kept.in_shardings_jax(None) == (None,) * 3


def test_functions_of_laminax_need_no_jit(x):
    np.testing.assert_allclose(export.export(jnp.sin)(x).call(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(export.export(jnp.add)(x, x).call(x, x), x + x)
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(laminax.vmap(lambda x: x))


def test_while_another_function_is_traced_arguments_give_their_types(x):
    def twice(x):
        sine = export.export(jit(jnp.sin))(x)
        return sine.call(x) + sine.call(x)

    np.testing.assert_allclose(jit(twice)(x), 2 * np.sin(x), rtol=1e-6)


BLOB = None


def blob():
    global BLOB
    BLOB = BLOB or bytes(exported(jnp.sin, 1.0).serialize())
    return BLOB


@pytest.mark.parametrize("change, message", [
    (lambda b: b"", "not an exported function"),
    (lambda b: b"PK" + b[2:], "not an exported function: it begins with b'PK"),
    (lambda b: b[:20], "damaged: it has only 20 bytes"),
    (lambda b: b[:-1], "is damaged: its .* bytes do not have the digest"),
    (lambda b: b[:100] + bytes([b[100] ^ 4]) + b[101:], "is damaged"),
    (lambda b: b[:8] + (9).to_bytes(4, "little") + b[12:], "has format version 9, and this laminax reads version 1"),
])
def test_damaged_and_other_data(change, message):
    with pytest.raises(ValueError, match=message):
        deserialize(change(blob()))


def test_other_calling_conventions(monkeypatch):
    from laminax._src.exporting import export as implementation
    assert export.minimum_supported_calling_convention_version <= deserialize(blob()).calling_convention_version
    assert deserialize(blob()).calling_convention_version == export.maximum_supported_calling_convention_version == 3
    monkeypatch.setattr(implementation, "minimum_supported_calling_convention_version", 4)
    monkeypatch.setattr(implementation, "maximum_supported_calling_convention_version", 5)
    with pytest.raises(ValueError, match="has calling convention 3, and this laminax reads 4 to 5. Use the laminax that wrote it"):
        deserialize(blob())
    with pytest.raises(TypeError, match="expected bytes, got str"):
        deserialize("text")


def test_stablehlo_that_jaxlib_cannot_read():
    e = exported(jnp.sin, 1.0)
    e.mlir_module_serialized = e.mlir_module_serialized[:-20]
    with pytest.raises(ValueError, match="cannot read the StableHLO artifact.*newer jaxlib"):
        again(e).call(1.0)


@pytest.mark.parametrize("make, error, message", [
    (lambda: export.export(lambda x: x), ValueError, "must be the result of `jit`.*export\\(jit\\(fun\\)\\)"),
    (lambda: exported(jnp.sin, 1.0, platforms=["gpu"]), ValueError, "unknown platform 'gpu'.*'cuda' or 'rocm'"),
    (lambda: exported(jnp.sin, 1.0, platforms="cpu"), TypeError, r"got the string 'cpu'; use \['cpu'\]"),
    (lambda: exported(jnp.sin, 1.0, platforms=[]), ValueError, r"one or several different ones, got \[\]"),
    (lambda: exported(jnp.sin, 1.0, platforms=["cpu", "cpu"]), ValueError, r"one or several different ones, got \['cpu', 'cpu'\]"),
    (lambda: exported(jnp.sin, 1.0, disabled_checks=["platform"]), TypeError, "DisabledSafetyCheck objects"),
    (lambda: exported(jnp.sin, 1.0).serialize(vjp_order=-1), ValueError, "0 or more, got -1"),
])
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_another_process(tmp_path, x):
    def f(x, y):
        return {"sum": jnp.sum(jnp.tanh(x) * y)}

    (tmp_path / "f.bin").write_bytes(exported(f, x, x).serialize(vjp_order=1))
    np.save(tmp_path / "x.npy", x)
    code = textwrap.dedent("""
        import sys, numpy as np, laminax
        from laminax.export import deserialize
        f = deserialize(open(sys.argv[1] + "/f.bin", "rb").read())
        x = np.load(sys.argv[1] + "/x.npy")
        np.save(sys.argv[1] + "/out.npy", f.call(x, x)["sum"])
        np.save(sys.argv[1] + "/grad.npy", laminax.grad(lambda a: f.call(a, x)["sum"])(x))
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.sum(np.tanh(x) * x), rtol=1e-5)
    np.testing.assert_allclose(np.load(tmp_path / "grad.npy"), x / np.cosh(x) ** 2, rtol=1e-4, atol=1e-6)


def test_a_class_that_nobody_registered_cannot_be_written():
    @laminax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, *parts):
            self.parts = parts

        def tree_flatten(self):
            return self.parts, None

        @classmethod
        def tree_unflatten(cls, _, parts):
            return cls(*parts)

    exported = export.export(laminax.jit(lambda pair: Pair(*pair.parts[::-1])))(Pair(1.0, 2.0))
    assert exported.call(Pair(1.0, 2.0)).parts == (2.0, 1.0)
    with pytest.raises(ValueError, match="Cannot serialize a value of the unregistered type .*Pair.*register_pytree_node_serialization"):
        exported.serialize()
