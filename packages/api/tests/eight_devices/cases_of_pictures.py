"""Pictures of shardings: who holds what, drawn by hand here."""

import numpy as np
import pytest
from meshes import DEVICES, MESH, on_mesh, put, value

import laminax
from laminax.debug import inspect_array_sharding, visualize_array_sharding, visualize_sharding
from laminax.sharding import SingleDeviceSharding

SPLIT_BOTH_WAYS = """\
┌───────┬───────┐
│ CPU 0 │ CPU 1 │
├───────┼───────┤
│ CPU 2 │ CPU 3 │
├───────┼───────┤
│ CPU 4 │ CPU 5 │
├───────┼───────┤
│ CPU 6 │ CPU 7 │
└───────┴───────┘
"""
COLUMNS = """\
┌───────────┬───────────┐
│           │           │
│CPU 0,2,4,6│CPU 1,3,5,7│
│           │           │
└───────────┴───────────┘
"""
SQUARE = """\
┌───────────────────────┐
│        CPU 0,1        │
├───────────────────────┤
│        CPU 2,3        │
├───────────────────────┤
│        CPU 4,5        │
├───────────────────────┤
│        CPU 6,7        │
└───────────────────────┘
"""
LINE = """\
┌────┬────┬────┬────┬────┬────┬────┬────┐
│CPU │CPU │CPU │CPU │CPU │CPU │CPU │CPU │
└────┴────┴────┴────┴────┴────┴────┴────┘
"""
WHOLE = """\
┌───────┐
│ CPU 3 │
└───────┘
"""
LARGE = """\
┌──────────────────────────────────────┐
│                CPU 3                 │
└──────────────────────────────────────┘
"""


def test_pictures(capsys):
    for draw, expected in [
        (lambda: visualize_array_sharding(put(value(8, 4), "x", "y")), SPLIT_BOTH_WAYS),
        (lambda: visualize_sharding((8, 4), on_mesh(None, "y"), use_color=False, scale=0.5), COLUMNS),
        (lambda: visualize_sharding((8, 8), on_mesh("x"), use_color=False), SQUARE),
        (lambda: visualize_sharding((16,), on_mesh(("x", "y")), max_width=42), LINE),
        (lambda: visualize_sharding((4,), SingleDeviceSharding(DEVICES[3])), WHOLE),
        (lambda: visualize_sharding((5,), SingleDeviceSharding(DEVICES[3]), scale=8), LARGE),
    ]:
        draw()
        assert capsys.readouterr().out == expected


def test_inspection():
    seen = []
    inspect_array_sharding(put(value(8, 4), "x"), callback=seen.append)
    inspect_array_sharding(laminax.device_put(laminax.random.split(laminax.random.key(0), 8), on_mesh("x")), callback=seen.append)
    assert seen == [on_mesh("x"), on_mesh("x")]


def test_inspection_of_traced_values():
    """When the program is compiled: of arguments as they are given, of others as the compiler chose."""
    seen = []

    def f(x):
        inspect_array_sharding(x, callback=seen.append)
        y = laminax.lax.with_sharding_constraint(x * 2, on_mesh(None, "y"))
        inspect_array_sharding(y, callback=seen.append)
        return (y * y).sum()

    x = put(value(8, 4), "x")
    for transformed in (f, laminax.grad(f), lambda x: laminax.vmap(f, in_axes=2)(x[..., None])):
        jitted = laminax.jit(transformed)
        jitted(x)
        jitted(x)
        given, constrained = seen  # what is computed from the argument may be split along its second axis too
        assert given.spec[0] == "x" and constrained.spec[:2] == (None, "y")
        assert {sharding.mesh for sharding in seen} == {x.sharding.mesh}
        seen.clear()
    laminax.jit(f)(value(8, 4))
    laminax.jit(lambda x: inspect_array_sharding(x, callback=seen.append))(np.ones(3))
    assert seen[-1].device_set == {laminax.devices()[0]}


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"one or two axes can be drawn, got the shape \(2, 2, 2\)"):
        visualize_sharding((2, 2, 2), on_mesh())
    with pytest.raises(NotImplementedError, match="color_map is not supported"):
        visualize_sharding((2, 2), on_mesh(), color_map=str)
    with pytest.raises(ValueError, match="axis 0 has size 6"):
        visualize_sharding((6,), on_mesh("x"))


def test_colours_on_a_terminal(capsys, monkeypatch):
    import sys
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    visualize_sharding((8, 4), on_mesh(None, "y"))
    out = capsys.readouterr().out
    assert out.count("\033[30;41mCPU 0,2,4,6\033[0m") == 1 and "\033[30;42mCPU 1,3,5,7\033[0m" in out
    visualize_sharding((8, 4), on_mesh(None, "y"), use_color=False)
    assert "\033" not in capsys.readouterr().out


def test_what_is_no_function_is_refused_as_a_callback():
    with pytest.raises(TypeError, match="inspect_array_sharding: callback must be a function of the sharding, got 3 of type int"):
        inspect_array_sharding(np.ones(3), callback=3)


def test_inside_of_a_program_per_device_all_devices_hold_what_they_see(capsys):
    def f(x):
        visualize_array_sharding(x * 2)
        return x

    laminax.jit(laminax.shard_map(f, mesh=MESH, in_specs=laminax.P("x"), out_specs=laminax.P("x")))(value(8, 4))
    assert "CPU 0,1,2,3,4,5,6,7" in capsys.readouterr().out
