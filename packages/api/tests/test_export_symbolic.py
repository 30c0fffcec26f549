"""Functions exported once for all sizes of some axes: each called with several sizes, and compared with the function itself."""

import operator

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import ShapeDtypeStruct, export, grad, jit, lax, nn, vmap
from laminax.core import InconclusiveDimensionOperation
from laminax.export import SymbolicScope, deserialize, is_symbolic_dim, symbolic_args_specs, symbolic_shape


def array(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).uniform(0.2, 2, shape).astype(dtype)


def exported(fun, *specs, vjp_order=0, platforms=None, constraints=(), dtype=np.float32):
    return exported_of(fun, *[(spec, dtype) for spec in specs], vjp_order=vjp_order, platforms=platforms, constraints=constraints)


def exported_of(fun, *typed_specs, vjp_order=0, platforms=None, constraints=()):
    scope = SymbolicScope(constraints)
    structs = [ShapeDtypeStruct(symbolic_shape(spec, scope=scope), dtype) for spec, dtype in typed_specs]
    return deserialize(export.export(jit(fun), platforms=platforms)(*structs).serialize(vjp_order=vjp_order))


W = array(4, 5)
PROGRAMS = {
    "elementwise": lambda x: jnp.tanh(x) * x + 1,
    "reductions": lambda x: (x.sum(0), x.max(), jnp.argmax(x, axis=1), jnp.any(x > 1)),
    "softmax": lambda x: nn.softmax(x, axis=0) + nn.logsumexp(x),
    "products": lambda x: (x @ W, jnp.einsum("bc,dc->bd", x, x)),
    "reshape": lambda x: (x.reshape(-1), x.reshape(x.shape[0] * 2, 2), x.T, x[:, None, :]),
    "joined": lambda x: jnp.concatenate([x, x * 2], 0) + jnp.stack([x, x]).reshape(-1, 4),
    "made": lambda x: (jnp.ones(x.shape), jnp.full((x.shape[0], 2), 3.0), lax.iota(np.int32, x.shape[0]), jnp.eye(x.shape[0])),
    "broadcast": lambda x: x[:, :1] + x[0] + jnp.broadcast_to(x.sum(1)[:, None], x.shape),
    "mapped": lambda x: vmap(lambda row: jnp.sin(row) @ W)(x),
    "gradient": lambda x: grad(lambda x: (nn.softmax(x) ** 2).sum())(x),
    "control flow": lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, lax.fori_loop(0, 3, lambda i, a: a * 1.5, x)),
    "called": lambda x: jit(lambda a: jnp.tanh(a) + a.sum(0))(x),
    "joined sizes": lambda x: jnp.pad(x, ((1, 2), (0, 1))),
    "sorted": lambda x: jnp.sort(x, axis=0),
    "moments": lambda x: (x.mean(0), jnp.var(x), x.std(1, ddof=1), x - x.mean(-1, keepdims=True)),
    "sizes as numbers": lambda x: (x * x.shape[0], x / x.shape[0], jnp.asarray(x.shape[0]) + 1, jnp.array(x.shape)),
    "ranges": lambda x: (jnp.arange(x.shape[0]), jnp.arange(2, 3 * x.shape[0], 2, dtype=x.dtype), jnp.tril(x @ x.T)),
    "slices": lambda x: (x[:-1], x[::2], x[::-1], x[0], x[-1], x[: x.shape[0] // 2 + 1], jnp.roll(x, 1, 0)),
    "gathered": lambda x: (jnp.asarray(x)[np.array([0, -1])], jnp.take(x, np.array([0, 7]), axis=0), jnp.asarray(x).at[0].set(1.0)),
    "padded by sizes": lambda x: (jnp.pad(x, ((0, x.shape[0]), (1, 0))), jnp.where(x > 1, x, 0.0), jnp.tile(x, (2, 1)),
                                  jnp.repeat(x, 2, axis=0)),
    "loops": lambda x: lax.scan(lambda total, row: (total + row.sum(), row * total), 0.0, x),
    "scanned from behind": lambda x: lax.scan(lambda total, row: (total + row, total), x[0], x, reverse=True),
    "cumulative": lambda x: (jnp.cumsum(x, 0), lax.cummax(x, axis=0, reverse=True)),
    "random": lambda x: laminax.random.uniform(laminax.random.key(0), x.shape) + x,
    "jacobians": lambda x: (laminax.jacrev(jnp.sin)(x[:, 0]), laminax.hessian(lambda x: (x * x).sum())(x[:, 0])),
    "searched": lambda x: (jnp.searchsorted(jnp.sort(x[:, 0]), x[:, 1]), nn.one_hot(jnp.arange(3), x.shape[0])),
    "transformed": lambda x: (jnp.abs(jnp.fft.fft(x)), laminax.random.bernoulli(laminax.random.key(1), 0.5, (x.shape[0], 2, x.shape[0]))),
    "pooled": lambda x: grad(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID").sum())(x),
    "attention": lambda x: nn.dot_product_attention(*[x[None, :, None]] * 3, is_causal=True),
    "windows": lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 1), "VALID"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_for_all_sizes(name):
    fun = PROGRAMS[name]
    e = exported(fun, "b, 4")
    for size in (1, 3):
        x = array(size, 4)
        for got, expected in zip(laminax.tree.leaves(e.call(x)), laminax.tree.leaves(fun(x)), strict=True):
            assert got.shape == expected.shape and got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_results_have_sizes_in_the_variables():
    e = exported(lambda x, y: (jnp.concatenate([x, y], 0), x.reshape(-1)), "2*w, h", "w, h")
    assert [str(aval.shape) for aval in e.in_avals] == ["(2*w, h)", "(w, h)"]
    assert [str(aval.shape) for aval in e.out_avals] == ["(3*w, h)", "(2*h*w,)"]
    assert e.uses_global_constants and "tensor<?x?xf32>" in e.mlir_module()
    assert [out.shape for out in e.call(array(4, 3), array(2, 3))] == [(6, 3), (12,)]


def test_derivatives():
    e = exported(lambda x, y: jnp.sin(x) * y, "b, c", "c", vjp_order=2)
    x, y = array(3, 4), array(4)
    by_x, by_y = grad(lambda x, y: e.call(x, y).sum(), (0, 1))(x, y)
    np.testing.assert_allclose(by_x, np.cos(x) * y, rtol=1e-5)
    np.testing.assert_allclose(by_y, np.sin(x).sum(0), rtol=1e-5)
    second = grad(lambda x: grad(lambda x: e.call(x, y).sum())(x).sum())(x)
    np.testing.assert_allclose(second, -np.sin(x) * y, rtol=1e-5)


def test_inside_of_programs_and_exported_again():
    inner = exported(lambda x: jnp.concatenate([x, x]), "b")
    x = array(3)
    np.testing.assert_array_equal(jit(lambda x: inner.call(x) + inner.call(x * 2)[0])(x), np.concatenate([x, x]) + 2 * x[0])
    outer = exported(lambda x: inner.call(x)[None] * 2, "2*a")
    assert str(outer.out_avals[0].shape) == "(1, 4*a)"
    np.testing.assert_array_equal(outer.call(array(6)), 2 * np.concatenate([array(6)] * 2)[None])


def test_several_platforms():
    e = exported(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos).reshape(-1), "b, c", platforms=["tpu", "cpu"])
    np.testing.assert_allclose(e.call(array(3, 4)), np.sin(array(3, 4)).reshape(-1), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "complex64"])
def test_dtypes(dtype):
    x = np.array([0, 1, 1], dtype)
    np.testing.assert_array_equal(exported(lambda x: jnp.where(x == 0, x, x), "b", dtype=x.dtype).call(x), x)


@pytest.mark.parametrize("spec, shape, message", [
    ("3, a + 1", (3, 1), r"Expected value >= 1 for dimension variable 'a'.*args\[0\].shape = \(3, a \+ 1\).*'a' = 0"),
    ("3, 6*a", (3, 13), "Division had remainder 1 when computing the value of 'a'"),
    ("a, a + 8", (4, 13), r"args\[0\].shape\[1\] \(= 13\) and the specification 'a \+ 8' \(= 12\)"),
    ("3, a", (4, 3), r"Shape mismatch for args\[0\].shape\[0\] \(expected same constant\)"),
    ("3, a", (3,), r"Rank mismatch for args\[0\]")])
def test_sizes_that_do_not_fit(spec, shape, message):
    e = exported(lambda x: x + 1, spec)
    with pytest.raises(ValueError, match=message):
        e.call(array(*shape))


def test_constraints_hold_and_are_kept():
    e = exported(lambda x, y: x[:, None] + jnp.ones((x.shape[0] - y.shape[0] + 1,)), "a", "b", constraints=["a >= b"])
    assert e.call(array(4), array(3)).shape == (4, 2)
    with pytest.raises(ValueError, match=r"(?s)do not fulfil the constraint '- b \+ a' >= 0.*a >= b"):
        e.call(array(2), array(3))


def test_specifications_of_arguments():
    args = {"x": array(3, 4), "y": (array(3), 2.0)}
    specs = symbolic_args_specs((args,), ({"x": "b, _", "y": ("b", None)},))
    assert str(specs[0]["x"].shape) == "(b, 4)" and specs[0]["y"][1].shape == () and is_symbolic_dim(specs[0]["y"][0].shape[0])
    e = export.export(jit(lambda args: args["x"].sum(1) * args["y"][0] + args["y"][1]))(*specs)
    np.testing.assert_allclose(e.call(args), args["x"].sum(1) * args["y"][0] + 2, rtol=1e-5)
    assert not is_symbolic_dim(3)


def test_one_scope_for_all_arguments():
    def f(x, y):
        return x + y

    structs = [ShapeDtypeStruct(symbolic_shape("w, h"), np.float32) for _ in range(2)]
    with pytest.raises(ValueError, match=r"(?s)mixing of symbolic scopes when exporting f.*\(from args\[0\]\) scope .* found for 'w' "
                                         r"\(args\[1\]\) scope"):
        export.export(jit(f))(*structs)
    with pytest.raises(ValueError, match="Cannot use both `scope` and `constraints`"):
        symbolic_shape("a", scope=SymbolicScope(), constraints=["a >= 2"])


def test_what_has_no_dynamic_form_says_so():
    with pytest.raises(NotImplementedError, match="fft: stablehlo.fft with symbolic dimensions is not supported.*Export for sizes that are "
                                                  "numbers"):
        exported(jnp.fft.fft, "b")


def test_cotangents_of_integers():
    e = export.export(jit(lambda n, x: (2 * n.T, x * x)))(*symbolic_args_specs((np.ones((2, 3), np.int32), array(3)), ("2, a", "a")))
    e = deserialize(e.serialize(vjp_order=1))
    n, x = np.ones((2, 3), np.int32), array(3)
    _, pull_back = laminax.vjp(e.call, n, x)
    by_n, by_x = pull_back((np.zeros((3, 2), laminax.dtypes.float0), np.ones(3, np.float32)))
    assert by_n.shape == (2, 3) and by_n.dtype == laminax.dtypes.float0
    np.testing.assert_allclose(by_x, 2 * x, rtol=1e-6)


def test_a_program_of_known_sizes_that_calls_one_of_all_sizes():
    inner = exported(lambda x: x.reshape(-1) * 2, "b, c")
    outer = deserialize(export.export(jit(inner.call))(array(3, 4)).serialize())
    assert outer.uses_global_constants and outer.in_avals[0].shape == (3, 4)
    np.testing.assert_array_equal(outer.call(array(3, 4)), 2 * array(3, 4).reshape(-1))


def test_sizes_by_max_and_min():
    e = exported(lambda x: jnp.zeros((laminax.core.max_dim(x.shape[0] - 3, 0), laminax.core.min_dim(x.shape[0], 4))), "b")
    assert e.call(array(5)).shape == (2, 4) and e.call(array(2)).shape == (0, 2)
    assert laminax.core.is_constant_dim(3) and not laminax.core.is_constant_shape(e.in_avals[0].shape)


@pytest.mark.parametrize("x64", [False, True])
def test_a_shape_as_a_value(x64):
    with laminax.enable_x64(x64):
        e = exported(lambda x: lax.shape_as_value((*x.shape, 7)), "b, 2*c")
        sizes = e.call(array(3, 4))
    assert sizes.dtype == (np.int64 if x64 else np.int32) and sizes.tolist() == [3, 4, 7]
    (b,) = symbolic_shape("b")
    with pytest.raises(TypeError, match="the symbolic dimension 'b' is a number only in a program"):
        lax.shape_as_value((b,))


@pytest.mark.parametrize("text, expected", [
    ("a", (1, 10)), ("b", (3, np.inf)), ("a + b", (4, np.inf)), ("a*b", (3, np.inf)), ("2*a - b", (-np.inf, 17)),
    ("floordiv(a, 2)", (0, 5))])
def test_bounds_of_sizes(text, expected):
    """By hand, from 1 <= a <= 10 and b >= 3."""
    (size,) = export.symbolic_shape(text, constraints=["a <= 10", "b >= 3"])
    assert export.symbolic_dim_bounds(size) == expected
    assert export.symbolic_dim_bounds(np.int32(7)) == (7, 7)
    with pytest.raises(TypeError, match="an integer or a size of a symbolic shape is expected, got 2.5"):
        export.symbolic_dim_bounds(2.5)


def test_names_of_meshes_and_references_at_the_top():
    from laminax import ref, sharding
    assert laminax.get_mesh is sharding.get_mesh and laminax.get_abstract_mesh is sharding.get_abstract_mesh
    assert (laminax.use_abstract_mesh is sharding.use_abstract_mesh and laminax.empty_ref is ref.empty_ref
            and laminax.free_ref is ref.free_ref)


ENDS = [lambda b: None, lambda b: 0, lambda b: 2, lambda b: b, lambda b: 2 * b + 2, lambda b: -2, lambda b: -2 * b - 2]
STEPS = [lambda b: None, lambda b: 2, lambda b: b, lambda b: -1, lambda b: -2, lambda b: -b]


@pytest.mark.parametrize("start", ENDS)
def test_slices_with_symbolic_parts(start):
    def slices(x):
        b = x.shape[1]
        return [x[start(b):stop(b):step(b)] for stop in ENDS for step in STEPS]

    e = exported(slices, "c, b")
    for shape in ((16, 8), (5, 3), (1, 1), (4, 9)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for got, expected in zip(e.call(x), slices(x), strict=True):  # NumPy's own
            np.testing.assert_array_equal(got, expected)


def test_slices_with_symbolic_parts_beside_others_and_written_to():
    e = exported(lambda x, i: (x[::-i.shape[0], None, i], x[i.shape[0]:, ::i.shape[0]], x.at[1::i.shape[0]].set(7)), "c, b", "n",
                 dtype=np.int32)
    for shape, n in (((7, 5), 2), ((3, 4), 1)):
        x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        places = np.arange(n, dtype=np.int32)
        written = x.copy()
        written[1::n] = 7
        for got, expected in zip(e.call(x, places), (x[::-n, None, places], x[n:, ::n], written), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("index, error, message", [
    (lambda b: slice(None, None, b - 3), InconclusiveDimensionOperation, r"the step \(b - 3\) must be resolved statically if"),
    (lambda b: slice(b - 3, None), InconclusiveDimensionOperation, r"the start \(b - 3\) must be resolved statically if"),
    (lambda b: slice(0, b, 0), ValueError, "slice step cannot be zero"),
])
def test_slices_of_unknown_direction(index, error, message):
    with pytest.raises(error, match=message):
        exported(lambda x: x[index(x.shape[0])], "b")


OPERANDS = [2, np.int32(3), 2.0, np.float32(2.5), np.array(2, np.int32), np.arange(1, 5, dtype=np.int32), np.arange(1.0, 7.0,
                                                                                                                   dtype=np.float32)]


@pytest.mark.parametrize("other", OPERANDS, ids=repr)
def test_arithmetic_of_sizes_and_arrays(other):
    operations = [operator.add, operator.mul, operator.sub, operator.mod, operator.floordiv, operator.truediv]
    e = exported(lambda x: [f(2 * x.shape[0], other) for f in operations] + [f(other, 2 * x.shape[0]) for f in operations], "b")
    expected = [f(10, other) for f in operations] + [f(other, 10) for f in operations]
    for got, value in zip(e.call(array(5)), expected, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-6)


@pytest.mark.parametrize("n, m", [(3, 4), (4, 3), (5, 9), (7, 3)])
def test_indices_of_triangles_of_unknown_size(n, m):
    diagonals = [lambda n: 0, lambda n: n - 1, lambda n: 1, lambda n: -1, lambda n: 1 - n]
    e = exported(lambda x: [f(x.shape[0], k(x.shape[0]), x.shape[1]) for f in (jnp.tril_indices, jnp.triu_indices) for k in diagonals],
                 "n, m")
    for got, expected in zip(e.call(array(n, m)), [f(n, k(n), m) for f in (np.tril_indices, np.triu_indices) for k in diagonals],
                             strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
def test_the_greatest_of_a_number_that_is_not_known(dtype):
    e = exported_of(lambda x, y: lax.top_k(x, y.shape[0]), ("2, b", dtype), ("k", np.float32), constraints=["b >= k"])
    x = np.random.default_rng(0).integers(0, 6, (2, 9)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[0, :4] = [-np.inf, -2.5, -0.25, np.inf]
    for k in (1, 4, 9):
        values, places = e.call(x, array(k))
        order = np.argsort(-x.astype(float), axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("is_partitionable", [False, True])
def test_random_numbers_of_a_number_that_is_not_known(is_partitionable):
    key = laminax.random.key(3)
    draws = [lambda x: laminax.random.uniform(key, x.shape), lambda x: laminax.random.bits(key, x.shape, "uint8"),
             lambda x: laminax.random.categorical(key, x, axis=0), lambda x: laminax.random.permutation(key, x.shape[0]),
             lambda x: laminax.random.choice(key, x, (2,), replace=False, p=jnp.full(x.shape[0], 0.1))]
    with laminax.threefry_partitionable(is_partitionable):
        e = exported(lambda x: [draw(x) for draw in draws], "b, 3", constraints=["b >= 2"])
        for size in (2, 3, 6, 7):  # both parities: hashes of the older layout come in pairs
            x = array(size, 3)
            for got, draw in zip(e.call(x), draws, strict=True):
                np.testing.assert_array_equal(got, draw(x))  # the bits that are drawn for the size as a number, which have tests


def test_single_places_of_an_axis_of_unknown_size():
    places = [1, 3, -2, -4]
    e = exported(lambda x: [x[i] for i in places] + [x[:, i] for i in places] + [x[2, ..., 1]], "b, c")
    for shape in ((4, 5), (6, 4)):
        x = array(*shape)
        for got, expected in zip(e.call(x), [x[i] for i in places] + [x[:, i] for i in places] + [x[2, ..., 1]], strict=True):
            np.testing.assert_array_equal(got, expected)
    assert e.call(x[:1])[0].shape == (4,) and (e.call(x[:1])[1] == x[0]).all()  # out of bounds, where it is the nearest as ever


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID", [(1, 1)]])
def test_convolutions_with_strides(padding):
    kernel = array(2, 2, 3)
    e = exported(lambda x: lax.conv_general_dilated(x, kernel, (2,), padding), "1, 2, b")
    for size in (3, 4, 7, 8):
        x = array(1, 2, size)
        missing = max((-(-size // 2) - 1) * 2 + 3 - size, 0)  # for as many windows as the stride has in the axis, rounded up
        smaller, larger = missing // 2, missing - missing // 2
        edges = {"SAME": (smaller, larger), "SAME_LOWER": (larger, smaller), "VALID": (0, 0)}.get(str(padding), (1, 1))
        padded = np.pad(x[0], ((0, 0), edges))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=1)[:, ::2]
        np.testing.assert_allclose(e.call(x)[0], np.einsum("inw,oiw->on", windows, kernel), rtol=1e-5)


def test_powers_images_and_counts():
    e = exported(lambda x: (x.shape[0] ** 2, 2 ** x.shape[0], x.shape[0] ** x.shape[1], x.shape[0] ** np.array([0.5, 2.0])), "b, c")
    for got, expected in zip(e.call(array(3, 2)), (9, 8, 9, [3**0.5, 9]), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    e = exported(lambda x: laminax.image.resize(x, (2 * x.shape[0], 3), "nearest"), "b, c")
    for shape in ((3, 4), (2, 7)):
        x = array(*shape)
        np.testing.assert_array_equal(e.call(x), np.repeat(x, 2, 0)[:, [int((i + 0.5) * shape[1] / 3) for i in range(3)]])
    e = exported(lambda x, y: jnp.bincount(x, length=y.shape[0]), "b", "n", dtype=np.int32)
    np.testing.assert_array_equal(e.call(np.int32([0, 2, 2, 5]), np.zeros(4, np.int32)), [1, 0, 2, 0])


@pytest.mark.parametrize("fun, error, message", [
    (lambda x: x.shape[0] ** -2, ValueError, "cannot be raised to negative powers: 'b' to the power -2"),
    (lambda x: x.shape[0] ** 1.5, ValueError, "cannot be raised to non-integer powers: 'b' to the power 1.5"),
    (lambda x: jnp.arange(0.0, x.shape[0]), ValueError, "must be either dimension expressions or integers, got 0.0"),
    (lambda x: jnp.arange(0, x.shape[0], 0), ValueError, "has step == 0"),
    (lambda x: jnp.arange(0, x.shape[0], x.shape[0] - 2), InconclusiveDimensionOperation, r"step \(b - 2\) must be resolved statically"),
    (lambda x: jnp.split(x, x.shape[0]), ValueError, "jax.numpy.split with a symbolic number of sections is not supported"),
    (lambda x: lax.approx_max_k(x, 2, aggregate_to_topk=False), NotImplementedError, "aggregate_to_topk=False with symbolic dimensions"),
])
def test_what_sizes_that_are_not_known_do_not_do(fun, error, message):
    with pytest.raises(error, match=message):
        exported(lambda x: fun(x), "b", constraints=["b >= 2"])


def test_constraints_on_variables_of_no_argument():
    with pytest.raises(ValueError, match="Encountered dimension variable 'm1' in the constraint '.*' >= 0 that is not appearing in"):
        exported(lambda x: x, "m", constraints=["m >= m1"])


@pytest.mark.parametrize("kind, reduce", [("sum", np.add), ("prod", np.multiply), ("max", np.maximum), ("min", np.minimum)])
@pytest.mark.parametrize("bucket_size", [None, 2, "a size"])
def test_segments_of_symbolic_numbers(kind, reduce, bucket_size):
    fun = getattr(laminax.ops, f"segment_{kind}")
    e = exported_of(lambda x, ids: fun(x, ids, num_segments=x.shape[1], bucket_size=x.shape[2] if bucket_size == "a size" else bucket_size),
                    ("b, s, k", np.int32), ("b", np.int32))
    for shape in [(8, 5, 2), (3, 4, 1), (7, 2, 3)]:
        x, ids = np.arange(np.prod(shape), dtype=np.int32).reshape(shape), np.arange(shape[0], dtype=np.int32) ** 2 % 4 - 1
        found = np.asarray(e.call(x, ids))
        for segment in set(ids) & set(range(shape[1])):
            np.testing.assert_array_equal(found[segment], reduce.reduce(x[ids == segment], axis=0))
        neutral = {"sum": 0, "prod": 1, "max": np.iinfo(np.int32).min, "min": np.iinfo(np.int32).max}[kind]
        assert all((found[segment] == neutral).all() for segment in set(range(shape[1])) - set(ids))


@pytest.mark.parametrize("reduce, window", [(np.min, lax.min), (np.max, lax.max), (np.sum, lax.add)])
def test_windows_of_a_symbolic_size(reduce, window):
    initial = {np.min: np.inf, np.max: -np.inf, np.sum: 0.0}[reduce]
    e = exported(lambda x: lax.reduce_window(x, np.float32(initial), window, (2, x.shape[0]), (1, 1), "VALID"), "b, 8")
    for b in (2, 3, 5):
        x = array(b, 8)
        windows = np.lib.stride_tricks.sliding_window_view(x, (2, b))
        np.testing.assert_allclose(e.call(x), reduce(windows, axis=(2, 3)), rtol=1e-6)


def test_triangles_below_a_symbolic_diagonal():
    e = exported(lambda x: (jnp.tril(x @ x.T, k=x.shape[1]), jnp.triu(x @ x.T, k=x.shape[1])), "b, c")
    for shape in [(3, 1), (4, 2), (2, 5)]:
        x = array(*shape)
        for got, expected in zip(e.call(x), (np.tril(x @ x.T, shape[1]), np.triu(x @ x.T, shape[1]))):
            np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_axes_that_may_have_the_size_one_are_not_squeezed_by_default():
    with pytest.raises(ValueError, match=r"squeeze with axis=None is not supported.*got the shape \(b, 1\).*Give axis"):
        exported(jnp.squeeze, "b, 1")
    np.testing.assert_array_equal(exported(lambda x: jnp.squeeze(x, axis=1), "b, 1").call(array(1, 1)), array(1, 1)[:, 0])


def test_a_size_that_may_not_be_whole_names_both_shapes():
    with pytest.raises(InconclusiveDimensionOperation, match=r"Cannot divide evenly the sizes of shapes \(b, 2, 4\) and \(b, -1, 3\)"):
        exported(lambda x: x.reshape([x.shape[0], -1, 3]), "b, 2, 4")


def test_no_square_matrices_of_symbolic_sizes():
    with pytest.raises(ValueError, match=r"eigh: Argument to symmetric eigendecomposition must be a square matrix.*got f32\[m,n\]"):
        exported(lambda x: lax.linalg.eigh(x, symmetrize_input=False), "m, n")


def test_variables_that_an_equality_replaces_are_in_no_shape():
    e = exported(lambda x, y: x + y, "2*a", "2*b", constraints=["a == b"])
    np.testing.assert_array_equal(e.call(array(4), array(4)), array(4) + array(4))
    for shapes in ((4, 6), (6, 4)):
        with pytest.raises(ValueError, match="specification '2\\*b'"):
            e.call(*map(array, shapes))
    with pytest.raises(ValueError, match="dimension variable 'c' in the constraint"):
        exported(lambda x: x, "b", constraints=["c >= b"])
