"""The settings in the keys of C++ dispatch: they are freed, and a thread whose settings cannot be told is not left with them."""

import gc
from weakref import ref

import pytest

from laminax_ir.options import ambient
from laminax_ir.tracing.manual_axes import manual_axes
from laminax_ir.tracing.operation_attributes import changed_attributes
from laminax_runtime import _jaxlib
from laminax_runtime.base import context


def test_settings_are_freed_with_the_entries_that_have_them():
    """Each block of metadata left a number once. A thread keeps the last settings that it had: the same override often comes again."""
    found = []
    for i in range(500):
        with changed_attributes({"step": i}):
            found.append(ref(context._thread_settings.value))
    gc.collect()
    assert [settings for settings in found[:-1] if settings() is not None] == []
    assert len(context._settings) < 200


def test_equal_settings_are_one_object_while_somebody_has_it():
    with changed_attributes({"a": 1}):
        first = context._thread_settings.value
        with changed_attributes({"a": 2}):
            assert context._thread_settings.value is not first
        assert context._thread_settings.value is first
    with changed_attributes({"a": 1}):
        assert context._thread_settings.value is first


def test_a_value_that_is_defined_later_leaves_the_settings_as_they_are():
    """Modules of operations are loaded when they are needed: functions that were compiled before must not be compiled again."""
    before = context._global_settings.get_global(), context._thread_settings.get_local()
    value = ambient.define_ambient("of_a_test_of_settings", 0, "A value of a test.")
    try:
        assert (context._global_settings.get_global(), context._thread_settings.get_local()) == before
    finally:
        ambient._all.remove(value)


def test_a_value_without_a_hash_does_not_get_into_the_settings():
    """`pmap(axis_name=[])` did that to the thread once."""
    before = context._thread_settings.get_local()
    with pytest.raises(TypeError, match="manual_axes cannot be .* hashable"):
        manual_axes.set_local((([], 2, False),))
    assert context._thread_settings.get_local() is before
    assert before is _jaxlib.UNSET or before is not None
