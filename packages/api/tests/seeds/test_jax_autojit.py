"""`autojit`, one test for each sentence of its documentation: calls, errors, transformations, caches and reports.

Expected numbers are NumPy's.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import threading
import traceback
import warnings
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from autojit_objects import Box, Counted, Layer, Pair, RegisteredDataclass, Slotted, Stateful, Unknown, X, equal

import laminax
import laminax.numpy as jnp

# Calls, decorators, transformations.


def test_keyword_arguments():
    @laminax.autojit
    def f(x, /, y, *rest, scale=1.0, **more):
        return (x + y) * scale + sum(rest) + sum(more.values())

    equal(f(jnp.asarray(X), y=jnp.asarray(X), scale=2.0, a=1, b=jnp.asarray(X)), X * 5 + 1)
    equal(f(jnp.asarray(X), 1, 2, 3), X + 6)


def test_name_signature_and_documentation_are_the_functions():
    import inspect

    @laminax.autojit
    def f(x, k=3):
        """Documentation."""

    assert (f.__name__, f.__doc__, f.__wrapped__.__name__, str(inspect.signature(f))) == ("f", "Documentation.", "f", "(x, k=3)")


def test_methods():
    class Model:
        def __init__(self, w, n):
            self.w, self.n = w, n

        @laminax.autojit
        def __call__(self, x):
            return self.w * x * self.n

        @laminax.autojit
        def step(self, x):
            return Model(self.w + x, self.n)

        @classmethod
        @laminax.autojit
        def make(cls, x):
            return cls(x, 2)

        @staticmethod
        @laminax.autojit
        def double(x):
            return x * 2

    m = Model(jnp.asarray(X), 3)
    equal(m(jnp.asarray(X)), X * X * 3)
    m.n = 4
    equal(m(jnp.asarray(X)), X * X * 4)
    stepped = m.step(jnp.asarray(X))
    assert type(stepped) is Model and stepped.n == 4
    equal(stepped.w, X * 2)
    equal(Model.make(jnp.asarray(X)).w, X)
    equal(Model.double(jnp.asarray(X)), X * 2)


def test_the_arrays_of_a_bound_method_and_of_a_partial_are_arguments():
    class Model:
        def __init__(self, w):
            self.w, self.traces = w, []

        def forward(self, x):
            traces.append(isinstance(self.w, laminax.core.Tracer))
            return self.w * x

    traces: list[bool] = []
    m = Model(jnp.asarray(X))
    for f in (laminax.autojit(m.forward), laminax.autojit(functools.partial(Model.forward, m))):
        m.w = jnp.asarray(X)
        equal(f(2), X * 2)
        m.w = jnp.asarray(X + 1)
        equal(f(2), (X + 1) * 2)
    assert traces == [True, True]


def test_a_class_and_a_callable_object_and_a_jitted_function():
    equal(laminax.autojit(Layer)(jnp.asarray(X)).w, X)

    class Add:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x + self.w

    add = Add(jnp.asarray(X))
    f = laminax.autojit(add)
    equal(f(1), X + 1)
    add.w = jnp.asarray(X * 2)
    equal(f(1), X * 2 + 1)
    equal(laminax.autojit(laminax.jit(lambda x: x + 1))(jnp.asarray(X)), X + 1)
    equal(laminax.autojit(lambda g, x: g(x))(laminax.jit(lambda x: x + 1), jnp.asarray(X)), X + 1)
    equal(laminax.autojit(laminax.autojit(lambda x, k: (x + k, k)))(jnp.asarray(X), 1)[0], X + 1)


@pytest.mark.parametrize("depth", [1, 2])
def test_an_error_is_the_users_with_the_users_traceback(depth):
    class Custom(Exception):
        pass

    def inner(x):
        if x.shape == (3,):
            raise Custom("three")
        return x

    f = inner
    for _ in range(depth):
        f = laminax.autojit(f)
    with pytest.raises(Custom, match="three") as caught:
        f(jnp.asarray(X))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "inner" and not {"call", "flat", "boundary"} & set(names)
    equal(f(jnp.ones(2)), [1, 1])


def test_an_error_while_a_returned_generator_is_consumed():
    def f(x):
        yield x
        raise KeyError("late")

    with pytest.raises(KeyError, match="late"):
        laminax.autojit(f)(jnp.ones(2))


def test_under_grad_vmap_jit_and_jvp():
    f = laminax.autojit(lambda m, k: (m.w ** k).sum())
    equal(laminax.grad(lambda w: f(Box(w=w), 2))(jnp.asarray(X)), 2 * X)
    equal(laminax.vmap(lambda w: f(Box(w=w), 3))(jnp.asarray(X)), X ** 3)
    equal(laminax.jit(lambda w: f(Box(w=w), 2))(jnp.asarray(X)), (X ** 2).sum())
    equal(laminax.jvp(lambda w: f(Box(w=w), 2), (jnp.asarray(X),), (jnp.ones(3),))[1], (2 * X).sum())
    equal(laminax.autojit(laminax.grad(lambda w: (w ** 2).sum()))(jnp.asarray(X)), 2 * X)
    equal(laminax.jit(laminax.vmap(laminax.grad(lambda w: f([w], 0) if False else f(Box(w=w), 2))))(jnp.asarray(X)), 2 * X)


def test_a_scalar_result_under_jit_is_a_python_scalar():
    def f(x):
        y, n = laminax.autojit(lambda x: (x + 1, x.shape[0]))(x)
        assert type(n) is int
        return y * n

    equal(laminax.jit(f)(jnp.asarray(X)), (X + 1) * 3)


def test_disable_jit_runs_plain_python():
    seen = []

    @laminax.autojit
    def f(m):
        seen.append(float(m.w[0]))
        return Box(w=m.w + 1)

    with laminax.disable_jit():
        equal(f(Box(w=jnp.asarray(X))).w, X + 1)
        f(Box(w=jnp.asarray(X)))
    assert seen == [1.0, 1.0]


def test_threads():
    f = laminax.autojit(lambda m, x: (m.w * x, m.config))
    failures = []

    def work(i):
        for k in range(20):
            config = Box(k=k % 3)
            y, same = f(Box(w=jnp.full(2, float(i)), config=config), float(k % 5))
            if same is not config or float(y[0]) != i * (k % 5):
                failures.append((i, k))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_the_caches_hold_no_objects_with_arrays():
    f = laminax.autojit(lambda m: m.w + 1)
    m = Slotted(jnp.asarray(X), 3)
    f(m)
    gone = weakref.ref(m)
    del m
    gc.collect()
    assert gone() is None


def test_clear_cache_forgets():
    f = Counted(lambda x: x)
    for _ in range(2):
        f(jnp.ones(1))
    f.fun.clear_cache()
    f(jnp.ones(1))
    assert f.traces == 2


# What cannot be part of a program is named.


@pytest.mark.parametrize("call, path", [
    (lambda f: f(Box(model=Box(lock=Unknown(), w=jnp.ones(2)))), "args[0].model.lock"),
    (lambda f: f(1, [0, {"k": Unknown()}]), "args[1][1]['k']"),
    (lambda f: f(k=Slotted(Unknown(), 1)), "kwargs['k'].w"),
    (lambda f: f(Pair(Unknown(), 1)), "args[0].w"),
    (lambda f: f(RegisteredDataclass(Unknown())), "args[0].w"),
    (lambda f: f(Layer(functools.partial(max, Unknown()))), "args[0].w.args[0]"),
    (lambda f: f(Stateful(Unknown())), "args[0].__getstate__()[1]"),
    (lambda f: f(OrderedDict(a=Unknown())), "args[0]['a']"),
])
def test_what_is_neither_pickled_nor_hashed_is_named_by_its_path(call, path):
    with pytest.raises(TypeError) as caught:
        call(laminax.autojit(lambda *args, **kwargs: 1))
    message = str(caught.value)
    assert message.startswith(f"autojit(<lambda>): {path}, of type ") and "Unknown" in message and "neither pickled nor hashed" in message


def test_such_a_part_of_a_result_is_named():
    with pytest.raises(TypeError, match=r"autojit\(f\): result\[1\].lock, of type .*Unknown"):
        def f(x):
            return x, Box(lock=Unknown())
        laminax.autojit(f)(jnp.ones(1))


def test_such_a_part_of_an_object_with_a_hash_is_not_asked_for():
    @dataclasses.dataclass(frozen=True)
    class Config:
        n: int
        lock: Any = dataclasses.field(compare=False)

    f = Counted(lambda x, c, k: (x + c.n, c, k))
    for _ in range(2):
        y, c, k = f(jnp.asarray(X), Config(1, Unknown()), [1])
        equal(y, X + 1)
        assert k == [1]
    assert f.traces == 1


def test_what_is_not_callable_or_asynchronous_is_refused():
    with pytest.raises(TypeError, match="autojit.*3"):
        laminax.autojit(3)

    async def f(x):
        return x

    with pytest.raises(TypeError, match="autojit: f is asynchronous"):
        laminax.autojit(f)
    with pytest.raises(TypeError, match="coroutine can run once"):
        laminax.autojit(lambda x: (c := f(x), c.close())[0])(1)


# An argument that changes in call after call is reported.


def test_a_value_that_changes_in_each_call_is_reported_once_by_its_path():
    f = laminax.autojit(lambda x, options: x * options["rate"])
    with pytest.warns(UserWarning) as caught:
        for i in range(20):
            f(jnp.asarray(X), {"rate": 0.5 + i, "name": "sgd"})
    (warning,) = caught
    text = str(warning.message)
    assert "args[1]['rate']" in text and "laminax.numpy.asarray(args[1]['rate'])" in text and "4.5, 5.5" in text
    assert warning.filename == __file__


def test_each_path_is_reported():
    f = laminax.autojit(lambda x, k, m: x * k)
    with pytest.warns(UserWarning) as caught:
        for i in range(20):
            f(jnp.asarray(X), float(i), m=Box(t=np.float32(i), marker=object()))
    assert sorted(str(w.message).split(": ")[1].split(" was ")[0] for w in caught) == ["args[1]", "kwargs['m'].marker", "kwargs['m'].t"]
    assert any("pass one and the same object" in str(w.message) for w in caught)


def test_values_that_come_back_and_arrays_are_not_reported():
    f = laminax.autojit(lambda x, k, flag=False: x * k)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(20):
            f(jnp.asarray(X) * i, k=i % 4)
            f(jnp.ones(i), 1, bool(i % 2))
