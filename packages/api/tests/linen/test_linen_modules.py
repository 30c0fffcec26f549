"""Modules: trees of variables, initial values and random streams as Flax's, which were recorded with flax 0.12.12 under jax 0.12.0.1."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn
from laminax._src.linen.filters import grouped, names_of

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


class Dense(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", lx.nn.initializers.lecun_normal(), (x.shape[-1], self.features))
        return x @ kernel + self.param("bias", lx.nn.initializers.zeros, (self.features,))


class InSetup(nn.Module):
    def setup(self):
        self.a = Dense(3)
        self.b = [Dense(4), Dense(5)]

    def __call__(self, x):
        x = self.a(x)
        for layer in self.b:
            x = layer(x)
        return x


class InCompact(nn.Module):
    inner: nn.Module

    @nn.compact
    def __call__(self, x):
        count = self.variable("counts", "n", lambda: lx.numpy.zeros(()))
        count.value += 1
        self.sow("intermediates", "x", x)
        return Dense(3)(Dense(2)(self.inner(x)))


def assert_sums(tree, expected):
    """Recorded sums of each variable. A sum of a dozen numbers is rounded in an order of the compiler's choice."""
    assert lx.tree.structure(tree) == lx.tree.structure(expected)
    for x, total in zip(lx.tree.leaves(tree), lx.tree.leaves(expected)):
        np.testing.assert_allclose(np.sum(x), total, rtol=1e-6)


def test_names_and_initial_values_of_submodules_of_setup():
    variables = InSetup().init(lx.random.key(0), np.ones((2, 3), np.float32))
    assert_sums(variables, {"params": {
        "a": {"bias": 0.0, "kernel": 1.6104203462600708}, "b_0": {"bias": 0.0, "kernel": 0.8523368239402771},
        "b_1": {"bias": 0.0, "kernel": -0.04553335905075073}}})


def test_names_and_initial_values_of_submodules_of_a_compact_method_and_a_field():
    model = InCompact(InSetup())
    variables = model.init(lx.random.key(0), np.ones((2, 3), np.float32))
    assert_sums(variables, {
        "counts": {"n": 1.0},
        "params": {"Dense_0": {"bias": 0.0, "kernel": -0.6533729434013367}, "Dense_1": {"bias": 0.0, "kernel": 0.255027174949646},
                   "inner": {"a": {"bias": 0.0, "kernel": -0.7371233105659485}, "b_0": {"bias": 0.0, "kernel": -1.2463103532791138},
                             "b_1": {"bias": 0.0, "kernel": 0.09701639413833618}}}})
    y, updates = model.apply(variables, np.ones((2, 3), np.float32), mutable=["counts", "intermediates"])
    assert y.shape == (2, 3) and float(updates["counts"]["n"]) == 2.0 and float(variables["counts"]["n"]) == 1.0
    np.testing.assert_array_equal(updates["intermediates"]["x"][0], np.ones((2, 3)))


# Fields, names, clones.


def test_fields_are_those_of_a_dataclass():
    class Base(nn.Module, kw_only=True):
        size: int = 3

    class Child(Base):
        depth: int

    child = Child(2)
    assert (child.depth, child.size, child.name, child.parent) == (2, 3, None, None)
    assert [field.name for field in dataclasses.fields(Child)] == ["size", "depth", "parent", "name"]
    assert child == Child(2) and child != Child(3) and hash(child) == hash(Child(2))
    assert Dense(4).clone(features=5).features == 5 and Dense(4, name="d").copy().name is None
    with pytest.raises(TypeError, match="positional"):
        Base(4)


def test_reserved_fields():
    with pytest.raises(nn.errors.ReservedModuleAttributeError, match="parent.*name"):
        type("Bad", (nn.Module,), {"__annotations__": {"name": str}, "name": "x"})


def test_repr_shows_fields_and_submodules_and_sets_nothing_up():
    assert repr(Dense(4)) == "Dense(\n    # attributes\n    features = 4\n)"
    assert repr(InSetup()) == "InSetup()"
    bound = InSetup().bind(InSetup().init(lx.random.key(0), X))
    assert "# children" not in repr(bound)
    bound.a  # noqa: B018  (the attribute is made when it is looked at)
    assert "# children" in repr(bound) and "a = Dense(" in repr(bound)


def test_copies_and_pickles():
    for made in (copy.copy(Dense(4)), copy.deepcopy(Dense(4)), pickle.loads(pickle.dumps(Dense(4)))):
        assert made == Dense(4)
    nested = copy.deepcopy(InCompact(Dense(4)))
    assert nested.inner == Dense(4)
    assert InCompact(Dense(4)).clone(_deep_clone=True) == InCompact(Dense(4))


def test_a_bound_module_has_no_hash():
    variables = Dense(4).init(lx.random.key(0), X)
    with pytest.raises(TypeError, match="hold variables"):
        hash(Dense(4).bind(variables))


def test_bind_and_unbind():
    model = InSetup()
    variables = model.init(lx.random.key(0), X)
    bound = model.bind(variables)
    np.testing.assert_array_equal(bound(X), model.apply(variables, X))
    part, part_variables = bound.a.unbind()
    assert part == Dense(3) and part.scope is None
    np.testing.assert_array_equal(part.apply(part_variables, X), bound.a(X))
    with pytest.raises(nn.errors.CallUnbindOnUnboundModuleError):
        model.unbind()


def test_shared_modules_have_one_set_of_variables():
    shared = Dense(3)

    class Twice(nn.Module):
        one: nn.Module
        other: nn.Module

        def __call__(self, x):
            return self.one(self.other(x))

    assert list(Twice(shared, shared).init(lx.random.key(0), X)["params"]) == ["one"]
    assert len(Twice(Dense(3), Dense(3)).init(lx.random.key(0), X)["params"]) == 2


def test_modules_in_containers_are_named_by_their_places():
    class Holds(nn.Module):
        layers: object

        def __call__(self, x):
            return self.layers["b"][1](self.layers["a"](self.layers["b"][0](x)))

    params = Holds({"a": Dense(3), "b": (Dense(3), Dense(3))}).init(lx.random.key(0), X)["params"]
    assert sorted(params) == ["layers_a", "layers_b_0", "layers_b_1"]


def test_containers_set_in_setup_do_not_change():
    class Holds(nn.Module):
        def setup(self):
            self.sizes = [1, {"a": [2]}]

        def __call__(self):
            return self.sizes
    assert Holds().apply({}) == (1, nn.FrozenDict({"a": (2,)}))


def test_paths():
    class Reports(nn.Module):
        @nn.compact
        def __call__(self):
            return self.path, self.name

    class Outer(nn.Module):
        def setup(self):
            self.inner = Reports()

        @nn.compact
        def __call__(self):
            return self.path, self.inner(), Reports()()
    assert Outer().apply({}) == ((), (("inner",), "inner"), (("Reports_0",), "Reports_0"))
    with pytest.raises(ValueError, match="unbound"):
        Reports().path  # noqa: B018


def test_share_scope():
    class LowRank(nn.Module):
        inner: nn.Module

        def setup(self):
            nn.share_scope(self, self.inner)

        @nn.compact
        def __call__(self, x):
            return self.inner(x) + x @ self.param("a", lx.nn.initializers.ones, (3, 1)) @ self.param("b", lx.nn.initializers.ones, (1, 4))

    variables = LowRank(Dense(4)).init(lx.random.key(0), X)
    assert sorted(variables["params"]) == ["a", "b", "bias", "kernel"]
    plain = Dense(4).init(lx.random.key(0), X)
    np.testing.assert_allclose(LowRank(Dense(4)).apply({"params": {**variables["params"], **plain["params"]}}, X),
                               np.asarray(Dense(4).apply(plain, X)) + X.sum(1, keepdims=True), rtol=1e-5)


def test_name_scopes_let_a_class_have_several_compact_methods():
    class UpDown(nn.Module):
        @nn.compact_name_scope
        def up(self, x):
            return Dense(8)(x)

        @nn.compact_name_scope
        def down(self, x):
            return Dense(3)(x)

        def __call__(self, x):
            return self.down(self.up(x))
    shapes = lx.tree.map(np.shape, UpDown().init(lx.random.key(0), X)["params"])
    assert {name: list(tree) for name, tree in shapes.items()} == {"up": ["Dense_0"], "down": ["Dense_0"]}
    assert shapes["down"]["Dense_0"]["kernel"] == (8, 3)


# Variables.


class Variables(nn.Module):
    do: object

    @nn.compact
    def __call__(self, *args):
        return self.do(self, *args)


def test_get_put_and_has_variable():
    def body(module):
        assert module.has_variable("state", "x") and not module.has_variable("state", "y")
        assert module.get_variable("state", "y", 7) == 7 and module.is_mutable_collection("state")
        module.put_variable("state", "x", module.get_variable("state", "x") + 1)
        return module.variables
    seen, updates = Variables(body).apply({"state": {"x": 1}, "params": {"w": 5}}, mutable="state")
    assert seen == {"state": {"x": 2}, "params": {"w": 5}} and updates == {"state": {"x": 2}}


def test_what_was_given_is_not_changed():
    given = {"state": {"x": {"deep": 1}}}
    Variables(lambda module: module.put_variable("state", "x", {"deep": 2})).apply(given, mutable=True)
    assert given == {"state": {"x": {"deep": 1}}}
    frozen = nn.FrozenDict(given)
    assert Variables(lambda module: module.variables["state"]["x"]["deep"]).apply(frozen) == 1


def test_sow():
    def body(module, x):
        return module.sow("seen", "x", x), module.sow("seen", "x", 2 * x), \
            module.sow("seen", "sum", x, reduce_fn=lambda a, b: a + b, init_fn=lambda: 10)
    result, updates = Variables(body).apply({}, 3, mutable=["seen"])
    assert result == (True, True, True) and updates == {"seen": {"x": (3, 6), "sum": 13}}
    assert Variables(body).apply({}, 3) == (False, False, False)


def test_perturb_gives_gradients_of_values_within():
    def body(module, x):
        hidden = module.perturb("hidden", x * x)
        return (hidden * 3).sum()
    model = Variables(body)
    variables = model.init(lx.random.key(0), X)
    np.testing.assert_array_equal(variables["perturbations"]["hidden"], np.zeros_like(X))
    gradient = lx.grad(lambda variables: model.apply(variables, X))(variables)
    np.testing.assert_array_equal(gradient["perturbations"]["hidden"], np.full_like(X, 3))
    with pytest.raises(ValueError, match="missing perturbation variable hidden"):
        model.apply({"perturbations": {}}, X)
    assert model.apply({}, X).shape == ()


def test_capture_intermediates():
    model = InSetup()
    variables = model.init(lx.random.key(0), X)
    _, updates = model.apply(variables, X, capture_intermediates=True)
    assert sorted(updates["intermediates"]) == ["__call__", "a", "b_0", "b_1"]
    _, updates = model.apply(variables, X, capture_intermediates=lambda module, name: module.name == "a", mutable=["intermediates"])
    np.testing.assert_array_equal(updates["intermediates"]["a"]["__call__"][0], model.bind(variables).a(X))


def test_is_initializing_and_has_rng():
    def body(module):
        return module.is_initializing(), module.has_rng("dropout"), module.has_rng("params")
    assert Variables(body).init_with_output({"params": lx.random.key(0)})[0] == (True, False, True)
    assert Variables(body).apply({}, rngs={"dropout": lx.random.key(0)}) == (False, True, False)


def test_methods_by_name_and_by_function():
    class Model(nn.Module):
        def setup(self):
            self.dense = Dense(2)

        def encode(self, x):
            return self.dense(x)
    variables = Model().init(lx.random.key(0), X, method="encode")
    expected = Model().apply(variables, X, method=Model.encode)
    np.testing.assert_array_equal(Model().apply(variables, X, method="encode"), expected)
    np.testing.assert_array_equal(Model().apply(variables, X, method=lambda model, x: model.encode(x)), expected)
    np.testing.assert_array_equal(nn.apply(lambda model: model.dense(X), Model())(variables), expected)
    y, same = nn.init_with_output(lambda model: model.dense(X), Model())(lx.random.key(0))
    assert lx.tree.all(lx.tree.map(np.array_equal, same, variables)) and np.array_equal(y, expected)
    assert lx.tree.all(lx.tree.map(np.array_equal, nn.init(lambda model: model.dense(X), Model())(lx.random.key(0)), variables))


def test_lazy_init_computes_nothing():
    variables = Dense(4).lazy_init(lx.random.key(0), lx.ShapeDtypeStruct((1 << 40, 3), np.float32))
    np.testing.assert_array_equal(variables["params"]["kernel"], Dense(4).init(lx.random.key(0), X)["params"]["kernel"])
    with pytest.raises(nn.errors.LazyInitError, match="float32"):
        Variables(lambda module, x: module.param("x", lambda key: x)).lazy_init(lx.random.key(0), lx.ShapeDtypeStruct((3,), np.float32))


# Around calls.


def test_interceptors_run_from_the_outside_in():
    calls = []

    def interceptor(label):
        def run(following, args, kwargs, info):
            calls.append((label, type(info.module).__name__, info.method_name))
            return following(*args, **kwargs)
        return run
    model = Dense(2)
    variables = model.init(lx.random.key(0), X)
    with nn.intercept_methods(interceptor("outer")), nn.intercept_methods(interceptor("inner")):
        plain = model.apply(variables, X)
    assert calls == [("outer", "Dense", "__call__"), ("inner", "Dense", "__call__")]
    with nn.intercept_methods(lambda following, args, kwargs, info: following(*args, **kwargs) + 1):
        np.testing.assert_allclose(model.apply(variables, X), plain + 1, rtol=1e-6)


@pytest.mark.parametrize("named", [True, False])
def test_operations_are_named_after_modules(named):
    model = InSetup()
    variables = model.init(lx.random.key(0), X)
    with nn.override_named_call(named):
        text = lx.jit(lambda variables: model.apply(variables, X)).lower(variables).as_text(debug_info=True)
    assert ("InSetup/b_0/" in text) == named


def test_nowrap_methods_are_plain_functions():
    class Model(nn.Module):
        @nn.nowrap
        def build(self):
            return Dense(2)

        @nn.compact
        def __call__(self, x):
            return self.build()(x)
    assert list(Model().init(lx.random.key(0), X)["params"]) == ["Dense_0"]


# Errors.


class Frozen(nn.Module):
    size: int = 1

    def setup(self):
        self.size = 2


@pytest.mark.parametrize("run, error, words", [
    (lambda: Dense(2)(X), nn.errors.CallCompactUnboundModuleError, "unbound"),
    (lambda: Dense.init(lx.random.key(0), X), nn.errors.InvalidInstanceModuleError, "instance"),
    (lambda: Dense(2).apply({}, X), nn.errors.ScopeCollectionNotFound, '"kernel" from collection "params" in "/"'),
    (lambda: Dense(2).apply({"params": {"bias": np.zeros(2)}}, X), nn.errors.ScopeParamNotFoundError, '"kernel" in scope "/"'),
    (lambda: Dense(2).apply({"params": {"kernel": np.zeros((3, 5)), "bias": np.zeros(5)}}, X), nn.errors.ScopeParamShapeError,
     r"\(3, 2\).*\(3, 5\)"),
    (lambda: Dense(2).apply({"params": {"params": {}}}, X), nn.errors.ApplyScopeInvalidVariablesStructureError, "extra params layer"),
    (lambda: Dense(2).apply([1], X), nn.errors.ApplyScopeInvalidVariablesTypeError, "dictionary of collections"),
    (lambda: Dense(2).apply({}, X, method=3), nn.errors.ApplyModuleInvalidMethodError, "3 is not a valid function"),
    (lambda: Dense(2).apply({}, X, method="features"), TypeError, "'Dense.features' must be a callable"),
    (lambda: Dense(2).apply({}, X, mutable=3), nn.errors.InvalidFilterError, "3"),
    (lambda: Dense(2).init("key", X), nn.errors.InvalidRngError, "key"),
    (lambda: Dense(2).init({"other": lx.random.key(0)}, X), nn.errors.InvalidRngError, 'needs PRNG for "params".*other'),
    (lambda: Variables(lambda m: m.put_variable("state", "x", 1)).apply({}), nn.errors.ModifyScopeVariableError, r'mutable=\["state"\]'),
    (lambda: Variables(lambda m: m.variable("state", "x")).apply({"state": {"y": 1}}), nn.errors.ScopeVariableNotFoundError,
     '"x".*"state"'),
    (lambda: Variables(lambda m: (m.param("x", lambda key: 1), m.param("x", lambda key: 1))).init(lx.random.key(0)),
     nn.errors.NameInUseError, 'param "x" in Module Variables'),
    (lambda: Variables(lambda m: (Dense(2, name="d"), Dense(2, name="d"))).init(lx.random.key(0)), nn.errors.NameInUseError,
     'submodule "d"'),
    (lambda: Variables(lambda m: setattr(m, "x", 1)).apply({}), nn.errors.SetAttributeFrozenModuleError, "x=1"),
    (lambda: Frozen().apply({}, method=lambda m: m.other), nn.errors.SetAttributeInModuleSetupError, "frozen"),
    (lambda: nn.merge_param("rate", 1, 2), ValueError, '"rate".*just once'),
    (lambda: nn.merge_param("rate", None, None), ValueError, '"rate" must be passed'),
    (lambda: Dense(2).missing, AttributeError, '"Dense" object has no attribute "missing"'),
    (lambda: Variables(None, parent=3), ValueError, "parent must be None, a Module or a Scope"),
])
def test_errors(run, error, words):
    with pytest.raises(error, match=words):
        run()


def test_submodules_outside_of_setup_and_compact_methods():
    class Bad(nn.Module):
        def __call__(self, x):
            return Dense(2)(x)
    with pytest.raises(nn.errors.AssignSubModuleError, match="Dense"):
        Bad().init(lx.random.key(0), X)


def test_a_property_that_fails_is_not_taken_for_missing():
    class Bad(nn.Module):
        @property
        def size(self):
            return self.nothing

        def __call__(self):
            return self.size
    with pytest.raises(nn.errors.DescriptorAttributeError):
        Bad().apply({})


def test_post_init_must_call_its_base():
    class Bad(nn.Module):
        def __post_init__(self):
            pass
    with pytest.raises(nn.errors.IncorrectPostInitOverrideError):
        Bad().init(lx.random.key(0))


def test_nothing_of_a_call_outlives_it():
    kept = []
    Variables(lambda module: kept.append(module)).apply({"state": {"x": 1}})
    with pytest.raises(nn.errors.InvalidScopeError):
        kept[0].get_variable("state", "x")


def test_filters():
    assert [name in names_of(nn.DenyList("a")) for name in "ab"] == [False, True]
    sets = [True, False, "a", ["a", "b"], nn.DenyList("a"), nn.DenyList(nn.DenyList("b")), nn.DenyList(["a", "c"])]
    for one in sets:
        for other in sets:
            for name in "abcd":
                in_one, in_other = name in names_of(one), name in names_of(other)
                assert (name in names_of(one) | names_of(other)) == (in_one or in_other)
                assert (name in names_of(one) & names_of(other)) == (in_one and in_other)
                assert (name in names_of(one) - names_of(other)) == (in_one and not in_other)
    assert grouped({"a": 1, "b": 2, "c": 3}, ["b", True, "a"]) == [{"b": 2}, {"a": 1, "c": 3}, {}]


def test_initial_values_have_the_same_bits_wherever_they_are_made():
    key = lx.random.key(3)
    x = np.ones((2, 30), np.float32)
    expected = nn.Dense(40).init(key, x)["params"]["kernel"]
    for made in (nn.remat(nn.Dense)(40).init(key, x), nn.Dense(40).lazy_init(key, x), lx.jit(nn.Dense(40).init)(key, x)):
        np.testing.assert_array_equal(made["params"]["kernel"], expected)
