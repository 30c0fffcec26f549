"""Contexts of users' own: values that traced programs depend on."""

from __future__ import annotations

import threading

import pytest

import laminax


def test_a_program_is_traced_once_per_value():
    context, traced = laminax.make_user_context("outside"), []

    @laminax.jit
    def f(x):
        traced.append(context.value)
        return x * 2

    for value in (1, 2, 1):
        with context(value):
            assert f(1.0) == 2
    f(1.0)
    f(1.0)
    assert traced == [1, 2, "outside"]


def test_values_nest_and_belong_to_threads():
    context, seen = laminax.make_user_context(), []
    with context(1):
        with context(2):
            assert context.value == 2
        assert context.value == 1
        thread = threading.Thread(target=lambda: seen.append(context.value))
        thread.start()
        thread.join()
    assert context.value is None and seen == [None]


def test_the_default_changes_for_all_programs():
    context, traced = laminax.make_user_context(0), []
    f = laminax.jit(lambda x: traced.append(context.value) or x)
    f(1.0)
    context.set_global(5)
    f(1.0)
    assert traced == [0, 5] and context.get_global() == 5


def test_two_contexts_are_told_apart():
    a, b = laminax.make_user_context(0), laminax.make_user_context(0)
    traced = []
    f = laminax.jit(lambda x: traced.append((a.value, b.value)) or x)
    with a(1):
        f(1.0)
    with b(1):
        f(1.0)
    assert traced == [(1, 0), (0, 1)]


def test_values_have_a_hash():
    with pytest.raises(TypeError, match="hashable"):
        laminax.make_user_context([])
    with pytest.raises(TypeError, match="hashable"):
        laminax.make_user_context()({})


def test_effort_levels():
    assert laminax.CompilerEffortLevel("O1") is laminax.CompilerEffortLevel.O1 and laminax.CompilerEffortLevel(39).name == "O3"
    for level in (laminax.CompilerEffortLevel.O1, "O1", 19):
        assert laminax.jit(lambda x: x + 1, compiler_options={"optimization_level": level})(1.0) == 2
    with pytest.raises(ValueError, match="not a valid CompilerEffortLevel"):
        laminax.CompilerEffortLevel("fast")
