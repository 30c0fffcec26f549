"""Source positions: the user's line, found past the library's own frames, formatted only when asked for."""

from __future__ import annotations

import os
import sys
import types

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.shape import broadcast_to_shape
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import name_scope
from laminax_ir.types.avals import ShapedArray

F32 = ShapedArray((3,), np.dtype(np.float32))


def here() -> int:
    return sys._getframe(1).f_lineno


def infos(fun):
    return [eqn.source_info for eqn in stage(lambda x: [fun(x)], [F32]).eqns]


def test_the_line_of_the_user():
    lines = []

    def model(x):
        y = op.sin(x); lines.append(here())  # noqa: E702
        z = (y +
             x); lines.append(here() - 1)  # noqa: E702
        return broadcast_to_shape(z, (3,)) / 2 if lines.append(here()) is None else z

    found = [source.position(info) for info in infos(model)]
    assert [p.line for p in found] == lines
    assert {p.file for p in found} == {__file__}
    assert {p.function for p in found} == {"test_the_line_of_the_user.<locals>.model"}
    assert [source.summarize(info) for info in infos(model)][0] == f"test_source.py:{lines[0]} in model"


def test_the_column_is_where_the_expression_begins():
    (info,) = infos(lambda x:     op.sin(x))  # noqa: E272
    with open(__file__) as file:
        text = file.readlines()[source.position(info).line - 1]
    assert text[source.position(info).column - 1:].startswith("op.sin(x)")


@pytest.mark.parametrize("register, paths, path", [
    (source.register_internal_folder, "_own_folders", "__init__.py"), (source.pass_over, "_library_paths", "helpers.py"),
    (source.pass_over, "_library_paths", ""),
])
def test_frames_of_registered_files_are_skipped(tmp_path, register, paths, path):
    code = compile("def helper(x, op):\n    return op.sin(x)\n", str(tmp_path / "library" / "helpers.py"), "exec")
    module = types.ModuleType("helpers")
    exec(code, module.__dict__)

    def user(x):
        return module.helper(x, op)

    assert source.summarize(infos(user)[0]).endswith("in helper")
    register(str(tmp_path / "library" / path))
    try:
        assert source.summarize(infos(user)[0]).endswith("in user")
        assert source.is_internal(code.co_filename) == (paths == "_own_folders")
    finally:
        getattr(source, paths).pop()
        source._is_passed_over.clear()


def test_name_scopes_are_recorded():
    def fun(x):
        with name_scope("layer"), name_scope("dense"):
            y = op.sin(x)
        return op.cos(y)

    assert [info.name_stack for info in infos(fun)] == [("layer", "dense"), ()]


def test_a_called_program_keeps_its_own_lines():
    inner = stage(lambda x: [op.sin(x)], [F32], "inner")
    closed = stage(lambda x: call_jaxpr(inner, x, name="inner"), [F32])
    assert source.position(closed.eqns[0].source_info).line == source.position(inner.eqns[0].source_info).line + 1


def test_unknown_positions():
    assert source.position(source.unknown) is None and source.summarize(source.unknown) == ""
    broken = source.SourceInfo(here.__code__, 10**6, ())
    assert source.position(broken).line == here.__code__.co_firstlineno


def test_a_record_is_small_and_made_without_formatting():
    info = source.current(1)
    assert info.code is sys._getframe().f_code and sys.getsizeof(info) < 100
    assert os.path.basename(source.position(info).file) == "test_source.py"


def test_callers_are_recorded_while_the_option_says_so_and_not_afterwards():
    """The option put another function in the place of `current` once, for good."""
    before = source.current

    def inner():
        return source.current(1)

    with config.include_full_tracebacks_in_locations(True), config.traceback_in_locations_limit(2):
        located = inner()
        assert source.current is before
    assert located.code is inner.__code__ and [code for code, _ in located.callers] == [sys._getframe().f_code]
    assert type(inner()) is source.SourceInfo
    for limit, count in ((0, 0), (1, 0), (3, 2)):
        with config.include_full_tracebacks_in_locations(True), config.traceback_in_locations_limit(limit):
            assert len(inner().callers) == count
    with config.include_full_tracebacks_in_locations(True), config.traceback_in_locations_limit(-1):
        assert len(inner().callers) > 5  # those of pytest
