"""Lifted transformations: against the plain transformation of a pure function that `init` and `apply` make of the module."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pytest

import laminax as lx
import laminax.numpy as jnp
from laminax import linen as nn
from laminax._src.linen.lifting import Border
from laminax._src.linen.scope import Scope

KEY = lx.random.key(0)
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


class Dense(nn.Module):
    features: int = 3

    @nn.compact
    def __call__(self, x):
        count = self.variable("counts", "n", lambda: jnp.zeros((), int))
        count.value += 1
        return jnp.tanh(x @ self.param("kernel", lx.nn.initializers.lecun_normal(), (x.shape[-1], self.features)))


class Model(nn.Module):
    body: object

    @nn.compact
    def __call__(self, *args):
        return self.body(self, *args)


def kernel_of(variables):
    return np.asarray(variables["params"]["d"]["kernel"])


# The border itself.


def test_a_border_takes_and_puts_back():
    scope = Scope({"params": {"a": {"w": 1.0}}, "stats": {"n": 2.0}}, {"noise": KEY}, mutable=["stats"])
    border = Border([scope], ("params", True), ("stats",), (True,))
    (params, rest), (keys,) = border.take()
    assert params == ({"params": {"a": {"w": 1.0}}},) and rest == ({"stats": {"n": 2.0}},) and list(keys[0]) == ["noise"]
    (inner,) = border.open((({"params": {"a": {"w": 10.0}}},), rest), (keys,))
    assert inner.below("a").get_variable("params", "w") == 10.0 and not inner.is_mutable_collection("params")
    inner.put_variable("stats", "n", 3.0)
    assert scope.get_variable("stats", "n") == 2.0  # nothing has crossed yet
    border.put(border.close([inner]))
    assert scope.get_variable("stats", "n") == 3.0 and scope.get_variable("params", "a") == {"w": 1.0}
    with pytest.raises(nn.errors.InvalidScopeError):
        inner.get_variable("stats", "n")


def test_scopes_within_others_are_taken_once():
    root = Scope({"params": {"a": {"b": {"w": 1.0}}, "c": {"w": 2.0}}}, mutable=True)
    a, c = root.push("a"), root.push("c")
    b = a.push("b")
    border = Border([b, c, a], (True,), (True,), ())
    assert [scope.path for scope in border.roots] == [("a",), ("c",)]
    inner_b, inner_c, inner_a = border.open(*border.take())
    inner_b.put_variable("params", "w", 5.0)
    assert inner_a.get_variable("params", "b") == {"w": 5.0}
    border.put(border.close([inner_b, inner_c, inner_a]))
    assert root.variables() == {"params": {"a": {"b": {"w": 5.0}}, "c": {"w": 2.0}}}


# Transformations.


def test_vmap_with_parameters_of_their_own():
    def body(module, x):
        return nn.vmap(Dense, variable_axes={"params": 0, "counts": 0}, split_rngs={"params": True}, in_axes=None, axis_size=4)(name="d")(x)
    y, variables = Model(body).init_with_output(KEY, X)
    kernel = kernel_of(variables)
    assert kernel.shape == (4, 3, 3) and len(np.unique(kernel[:, 0, 0])) == 4 and list(variables["counts"]["d"]["n"]) == [1] * 4
    np.testing.assert_allclose(y, np.tanh(np.einsum("bi,eij->ebj", X, kernel)), rtol=2e-6)  # one product in float32


def test_vmap_with_shared_parameters():
    def body(module, x):
        return nn.vmap(Dense, variable_axes={"params": None}, split_rngs={"params": False}, out_axes=1)(name="d")(x)

    class NoCounts(Dense):
        @nn.compact
        def __call__(self, x):
            return x @ self.param("kernel", lx.nn.initializers.lecun_normal(), (x.shape[-1], self.features))

    def without_counts(module, x):
        return nn.vmap(NoCounts, variable_axes={"params": None}, split_rngs={"params": False}, out_axes=1)(name="d")(x)
    y, variables = Model(without_counts).init_with_output(KEY, X)
    np.testing.assert_allclose(y, (X @ kernel_of(variables)).T, rtol=2e-6)
    with pytest.raises(nn.errors.ScopeCollectionNotFound, match="counts"):  # a collection that is not lifted is not there
        Model(body).init(KEY, X)


def test_vmap_needs_a_size():
    def body(module, x):
        return nn.vmap(Dense, variable_axes={"params": 0, "counts": 0}, split_rngs={"params": True}, in_axes=None)(name="d")(x)
    with pytest.raises(ValueError, match="axis_size should be specified manually"):
        Model(body).init(KEY, X)


def test_vmap_has_an_axis_for_each_argument():
    with pytest.raises(ValueError, match=r"in_axes=\(0, None\) is for 2 arguments by position, and 1 were given"):
        nn.vmap(Dense, variable_axes={"params": 0, "counts": 0}, in_axes=(0, None))().init(KEY, X)


def test_variables_that_only_come_out():
    def body(module, x):
        return nn.vmap(Dense, variable_axes={"params": 0, "counts": nn.Out(0)}, split_rngs={"params": True})(name="d")(x)
    variables = Model(body).init(KEY, X)
    for _ in range(2):  # what is there does not go in
        _, updates = Model(body).apply(variables, X, mutable=["counts"])
        assert list(updates["counts"]["d"]["n"]) == [1, 1]


def test_scan_over_layers():
    def body(module, x):
        layer = Dense(name="d")
        return nn.scan(lambda layer, x, _: (layer(x), x.sum()), variable_axes={"params": 0, "counts": 0}, split_rngs={"params": True},
                       length=5)(layer, x, None)
    (y, sums), variables = Model(body).init_with_output(KEY, X)
    kernel, expected, expected_sums = kernel_of(variables), X, []
    assert kernel.shape == (5, 3, 3)
    for w in kernel:
        expected_sums.append(expected.sum())
        expected = np.tanh(expected @ w)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    np.testing.assert_allclose(sums, expected_sums, atol=1e-5)


def test_scan_over_steps_shares_and_carries_variables():
    class Cell(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            kernel = self.param("kernel", lx.nn.initializers.lecun_normal(), (3, 3))
            seen = self.variable("state", "seen", lambda: jnp.zeros((), int))
            seen.value += 1
            return carry @ kernel + x, carry.sum()

    Cells = nn.scan(Cell, variable_broadcast="params", variable_carry="state", split_rngs={"params": False}, in_axes=1)
    inputs = np.arange(12, dtype=np.float32).reshape(3, 4)
    params = {"kernel": 0.1 * np.ones((3, 3), np.float32)}
    (carry, sums), updates = Cells().apply({"params": params, "state": {"seen": 7}}, np.zeros(3, np.float32), inputs, mutable=["state"])
    expected, expected_sums = np.zeros(3, np.float32), []
    for x in inputs.T:
        expected_sums.append(expected.sum())
        expected = expected @ params["kernel"] + x
    np.testing.assert_allclose(carry, expected, rtol=1e-6)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-6)
    assert int(updates["state"]["seen"]) == 11


def test_scan_initializes_shared_variables_once():
    class Cell(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            return carry @ self.param("kernel", lx.nn.initializers.lecun_normal(), (3, 3)), None
    variables = nn.scan(Cell, variable_broadcast="params", split_rngs={"params": False})().init(KEY, X[0], np.zeros(4))
    assert variables["params"]["kernel"].shape == (3, 3)


def test_scan_refuses_shared_variables_that_depend_on_the_step():
    def body(module, x):
        def step(module, carry, x):
            return carry, module.variable("stats", "x", lambda: x).value
        return nn.scan(step, variable_broadcast="stats")(module, 0.0, x)
    with pytest.raises(ValueError, match="data dependency on the scan body"):
        Model(body).init(KEY, X)


def test_scan_broadcasts_arguments():
    def body(module, x):
        return nn.scan(lambda module, carry, x, y: (carry + y.sum(), x * y), in_axes=(0, nn.broadcast), reverse=True)(module, 0.0, x, X[0])
    carry, y = Model(body).apply({}, X)
    np.testing.assert_allclose(y, X * X[0], rtol=1e-6)
    np.testing.assert_allclose(carry, 2 * X[0].sum(), atol=1e-6)


@pytest.mark.parametrize("arguments, message", [((1, X), "pair of the carry"), ((), "takes a carry")])
def test_scan_says_what_the_function_must_do(arguments, message):
    with pytest.raises(TypeError, match=message):
        Model(lambda module: nn.scan(lambda module, carry, *xs: carry, length=2)(module, *arguments)).apply({})


def test_remat_keeps_gradients():
    plain = Model(lambda module, x: Dense(name="d")(Dense(name="e")(x)))
    remat = Model(lambda module, x: Dense(name="d")(nn.remat(Dense)(name="e")(x)))
    variables = plain.init(KEY, X)

    def loss(model):
        return lambda variables: model.apply(variables, X, mutable=["counts"])[0].sum()
    params, counts = variables["params"], variables["counts"]

    def gradient(model):
        return lx.grad(lambda params: loss(model)({"params": params, "counts": counts}))(params)
    for expected, got in zip(lx.tree.leaves(gradient(plain)), lx.tree.leaves(gradient(remat))):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert "checkpoint" in str(lx.make_jaxpr(lambda v: remat.apply(v, X, mutable=["counts"]))(variables))


def test_remat_has_static_arguments():
    class Model(nn.Module):
        def __call__(self, x, static, traced):
            assert isinstance(static, int) and isinstance(traced, lx.Array)
            return x * static * traced
    for position in (2, -2):
        for remat in (nn.remat(Model, static_argnums=position)(), nn.jit(Model, static_argnums=(position,))()):
            for apply in (remat.apply, lx.jit(remat.apply, static_argnums=2)):
                np.testing.assert_allclose(apply({}, X, 2, 3), 6 * X, rtol=1e-6)


def test_remat_scan_is_a_loop_in_a_loop():
    def body(module, x):
        return nn.remat_scan(Dense, (2, 3), variable_axes={"params": 0, "counts": 0})(name="d")(x)
    y, variables = Model(body).init_with_output(KEY, X)
    kernel, expected = kernel_of(variables), X
    assert kernel.shape == (2, 3, 3, 3)
    for w in kernel.reshape(6, 3, 3):
        expected = np.tanh(expected @ w)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="lengths"):
        nn.remat_scan(Dense, ())


def test_while_loop_changes_variables():
    def body(module, x):
        total = module.variable("state", "total", lambda: jnp.zeros(()))

        def goes_on(module, i):
            return i < 4

        def step(module, i):
            before = module.get_variable("state", "total")
            module.put_variable("state", "total", before + i)
            return i + 1
        nn.while_loop(goes_on, step, module, jnp.zeros(()), carry_variables="state")
        return total.value
    variables = Model(body).init(KEY, X)
    assert float(variables["state"]["total"]) == 6.0
    assert float(Model(body).apply(variables, X, mutable=["state"])[0]) == 12.0


@pytest.mark.parametrize("index", [0, 1, 2])
def test_switch_and_cond(index):
    def body(module, x):
        layers = [Dense(name=f"d{i}") for i in range(3)]
        for layer in layers:
            layer(x)  # all branches know all variables
        branches = [lambda layers, x, i=i: layers[i](x) for i in range(3)]
        return nn.switch(index, branches, layers, x), nn.cond(index == 1, branches[1], branches[0], layers, x)
    (switched, chosen), variables = Model(body).init_with_output(KEY, X)
    kernels = [np.asarray(variables["params"][f"d{i}"]["kernel"]) for i in range(3)]
    np.testing.assert_allclose(switched, np.tanh(X @ kernels[index]), rtol=2e-6)
    np.testing.assert_allclose(chosen, np.tanh(X @ kernels[index == 1]), rtol=2e-6)
    assert [int(variables["counts"][f"d{i}"]["n"]) for i in range(3)] == [1 + (i == index) + (i == int(index == 1)) for i in range(3)]


def test_vjp():
    def body(module, x):
        y, backward = nn.vjp(lambda dense, x: dense(x), Dense(name="d"), x)
        return y, backward(jnp.ones_like(y))
    variables = Model(body).init(KEY, X)
    (y, (variables_ct, x_ct)), updates = Model(body).apply(variables, X, mutable=["counts"])
    kernel = kernel_of(variables)
    slope = 1 - np.tanh(X @ kernel) ** 2
    np.testing.assert_allclose(variables_ct["params"]["kernel"], X.T @ slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x_ct, slope @ kernel.T, rtol=1e-5, atol=1e-6)
    assert int(updates["counts"]["d"]["n"]) == 2


def test_vjp_of_several_modules():
    def body(module, x):
        modules = Dense(name="d"), Dense(name="e")
        y, backward = nn.vjp(lambda modules, x: modules[0](x) + modules[1](x), modules, x, multi_scope=True)
        return backward(jnp.ones_like(y))[0]
    variables = Model(body).init(KEY, X)
    cts = Model(body).apply(variables, X, mutable=["counts"])[0]
    for name, ct in zip("de", cts):
        slope = 1 - np.tanh(X @ np.asarray(variables["params"][name]["kernel"])) ** 2
        np.testing.assert_allclose(ct["params"]["kernel"], X.T @ slope, rtol=1e-5, atol=1e-6)

    def single(module, x):
        return nn.vjp(lambda modules, x: modules[0](x), (Dense(name="d"), Dense(name="e")), x)
    with pytest.raises(ValueError, match="multi_scope=True"):
        Model(single).apply(variables, X, mutable=["counts"])


def test_grad_and_value_and_grad():
    def body(module, x):
        return (nn.grad(lambda dense, x, y: (dense(x) * y).sum(), Dense(name="d"), x, x),
                nn.value_and_grad(lambda dense, x: (dense(x).sum(), x), Dense(name="e"), x, has_aux=True))
    variables = Model(body).init(KEY, X)
    ((x_grad, y_grad), ((value, aux), (gradient,))), _ = Model(body).apply(variables, X, mutable=["counts"])
    kernel, other = kernel_of(variables), np.asarray(variables["params"]["e"]["kernel"])
    np.testing.assert_allclose(y_grad, np.tanh(X @ kernel), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x_grad, (X * (1 - np.tanh(X @ kernel) ** 2)) @ kernel.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value, np.tanh(X @ other).sum(), atol=1e-5)
    np.testing.assert_allclose(gradient, (1 - np.tanh(X @ other) ** 2) @ other.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(aux, X)
    with pytest.raises(TypeError, match="scalar"):
        Model(lambda module, x: nn.grad(lambda dense, x: dense(x), Dense(name="d"), x)).apply(variables, X, mutable=["counts"])


def test_jvp():
    def body(module, x):
        dense = Dense(name="d")
        dense(x)
        direction = {"params": lx.tree.map(jnp.ones_like, dense.variables["params"])}
        return nn.jvp(lambda dense, x: dense(x), dense, (x,), (x,), direction)
    (y, tangent), variables = Model(body).init_with_output(KEY, X)
    kernel = kernel_of(variables)
    slope = 1 - np.tanh(X @ kernel) ** 2
    np.testing.assert_allclose(tangent, slope * (X @ kernel + X.sum(1, keepdims=True)), rtol=1e-5, atol=1e-6)


def test_custom_vjp():
    def body(module, x):
        def f(dense, x, factor):
            return dense(x) * factor

        def forward(dense, x, factor):
            return nn.vjp(lambda dense, x: f(dense, x, factor), dense, x)

        def backward(factor, vjp, ct):
            variables, x_ct = vjp(ct)
            return lx.tree.map(jnp.sign, variables), x_ct * factor
        return nn.custom_vjp(f, forward, backward, nondiff_argnums=(2,))(Dense(name="d"), x, 3.0)
    model = Model(body)
    variables = model.init(KEY, X)
    gradient, x_gradient = lx.grad(lambda params, x: model.apply({**variables, "params": params}, x, mutable=["counts"])[0].sum(), (0, 1))(
        variables["params"], X)
    kernel = kernel_of(variables)
    slope = 1 - np.tanh(X @ kernel) ** 2
    np.testing.assert_array_equal(gradient["d"]["kernel"], np.sign(X.T @ slope))
    np.testing.assert_allclose(x_gradient, 9 * slope @ kernel.T, rtol=1e-5, atol=1e-6)


def test_map_variables_ties_weights():
    class Linear(nn.Module):
        features: int

        @nn.compact
        def __call__(self, x):
            return x @ self.param("kernel", lx.nn.initializers.lecun_normal(), (x.shape[-1], self.features))

    def transposed(variables):
        return lx.tree.map(jnp.transpose, variables)

    class Tied(nn.Module):
        @nn.compact
        def __call__(self, x):
            encoder = Linear(5, name="encoder")
            decoder = nn.map_variables(lambda encoder, z: encoder.clone(features=x.shape[-1], parent=encoder.scope)(z), "params",
                                       transposed, transposed)
            return decoder(encoder, encoder(x))
    y, variables = Tied().init_with_output(KEY, X)
    assert list(variables["params"]) == ["encoder"]
    kernel = np.asarray(variables["params"]["encoder"]["kernel"])
    np.testing.assert_allclose(y, X @ kernel @ kernel.T, rtol=1e-5, atol=1e-6)


def test_map_variables_initializes_what_is_stored():
    class Linear(nn.Module):
        @nn.compact
        def __call__(self, x):
            return x @ self.param("kernel", lx.nn.initializers.ones, (3, 3))

    def each(function):
        return lambda variables: lx.tree.map(function, variables)

    def body(module, x):
        return nn.map_variables(Linear, "params", each(jnp.exp), each(jnp.log), init=True)(name="d")(x)
    y, variables = Model(body).init_with_output(KEY, X)
    np.testing.assert_allclose(kernel_of(variables), np.zeros((3, 3)), atol=1e-7)
    np.testing.assert_allclose(y, X @ np.ones((3, 3)), rtol=1e-6, atol=1e-6)


# What the module system and lifting owe one another.


def test_names_go_on_after_a_lifted_function():
    class Three(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.scan(lambda module, x, _: (Dense()(x), None), variable_axes={"params": 0, "counts": 0}, split_rngs={"params": True},
                        length=2)(self, x, None)[0]
            x = nn.jit(lambda module, x: Dense()(x))(self, x)
            return Dense()(x)
    shapes = lx.tree.map(np.shape, Three().init(KEY, X)["params"])
    assert shapes == {"Dense_0": {"kernel": (2, 3, 3)}, "Dense_1": {"kernel": (3, 3)}, "Dense_2": {"kernel": (3, 3)}}


def test_variables_that_are_there_and_not_stacked_cannot_be_scanned():
    def body(module, x):
        Dense(name="d")(x)
        return nn.scan(lambda module, x, _: (Dense()(x), None), variable_axes={True: 0}, length=2)(module, x, None)
    with pytest.raises(ValueError, match="has no axis 0 to scan over.* scan a submodule"):
        Model(body).init(KEY, X)


def test_names_go_on_where_nothing_is_traced():
    lifted = nn.jit(lambda module, x: Dense()(x))

    class Two(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Dense()(lifted(self, x))
    variables = Two().init(KEY, X)
    for _ in range(2):
        assert sorted(Two().apply(variables, X, mutable=["counts"])[1]["counts"]) == ["Dense_0", "Dense_1"]


def test_methods_of_a_module_with_setup_share_submodules():
    class Coder(nn.Module):
        def setup(self):
            self.dense = Dense()

        @nn.jit
        def encode(self, x):
            return self.dense(x)

        @nn.remat
        def decode(self, x):
            return self.dense(x)

        def __call__(self, x):
            return self.decode(self.encode(x))
    y, variables = Coder().init_with_output(KEY, X)
    kernel = np.asarray(variables["params"]["dense"]["kernel"])
    np.testing.assert_allclose(y, np.tanh(np.tanh(X @ kernel) @ kernel), rtol=1e-5)
    assert int(variables["counts"]["dense"]["n"]) == 2


def test_modules_and_variables_among_the_arguments():
    class Uses(nn.Module):
        @nn.compact
        def __call__(self, x):
            dense = Dense(name="d")
            total = self.variable("state", "total", lambda: jnp.zeros(()))

            @nn.jit
            def run(module, dense, total, x):
                y = dense(x)
                total.value += y.sum()
                return y
            return run(self, dense, total, x)
    y, variables = Uses().init_with_output(KEY, X)
    np.testing.assert_allclose(variables["state"]["total"], np.sum(y), rtol=1e-6)


def test_a_lifted_function_returns_no_modules():
    with pytest.raises(nn.errors.TransformedMethodReturnValueError, match="cannot return Modules or Variables"):
        Model(lambda module: nn.jit(lambda module: Dense())(module)).init(KEY)


def test_plain_transformations_around_a_bound_module_are_refused():
    def body(module, x):
        dense = Dense(name="d")
        dense(x)
        return lx.jit(lambda x: dense(x))(x)
    with pytest.raises(nn.errors.JaxTransformError, match="lifted transformation"):
        Model(body).init(KEY, X)


def test_transformations_of_init_and_apply():
    model = Model(lambda module, x: nn.jit(Dense)(name="d")(x))
    variables = lx.jit(model.init)(KEY, X)
    np.testing.assert_array_equal(kernel_of(variables), kernel_of(model.init(KEY, X)))
    many = lx.vmap(model.init, in_axes=(0, None))(lx.random.split(KEY, 3), X)
    assert many["params"]["d"]["kernel"].shape == (3, 3, 3)
    outputs = lx.vmap(lambda v: model.apply(v, X, mutable=["counts"])[0])(many)
    for i in range(3):
        np.testing.assert_allclose(outputs[i], np.tanh(X @ np.asarray(many["params"]["d"]["kernel"][i])), rtol=2e-6)


def test_a_partial_of_a_class_is_lifted():
    Lifted = nn.vmap(functools.partial(Dense, features=2), variable_axes={"params": 0, "counts": 0}, split_rngs={"params": True})
    assert Lifted().init(KEY, X)["params"]["kernel"].shape == (2, 3, 2)


def test_bound_methods_in_branches():
    class Chooses(nn.Module):
        def setup(self):
            self.dense = Dense()

        def one(self, x):
            return self.dense(x)

        def other(self, x):
            return 2 * self.dense(x)

        def __call__(self, x):
            return nn.cond(x.sum() > 100, self.one, self.other, self, x)
    y, variables = Chooses().init_with_output(KEY, X)
    np.testing.assert_allclose(y, 2 * np.tanh(X @ np.asarray(variables["params"]["dense"]["kernel"])), rtol=2e-6)


def test_scan_of_no_steps():
    Cells = nn.scan(nn.GRUCell, variable_broadcast="params", split_rngs={"params": False, "noise": True})
    carry = np.ones((2, 4), np.float32)
    (last, ys), variables = Cells(4).init_with_output({"params": KEY, "noise": KEY}, carry, np.zeros((0, 2, 3), np.float32))
    np.testing.assert_array_equal(last, carry)
    assert ys.shape == (0, 2, 4) and variables["params"]["hn"]["kernel"].shape == (4, 4)


def test_lifted_classes_of_threads_do_not_meet():
    Lifted = nn.jit(Dense)
    found = {}

    def run(features):
        model = Lifted(features)
        found[features] = model.init_with_output(KEY, X)[0].shape
    threads = [threading.Thread(target=run, args=(features,)) for features in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {features: (2, features) for features in range(1, 9)}
