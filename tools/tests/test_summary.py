"""What continuous integration counts: cases of pytest and of Bazel, over all lanes."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).absolute().parents[2]


def module(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, ROOT / path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded  # for its dataclasses
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def summary():
    return module("ci/summary.py")


def report(path, tests, failures=0, errors=0, skipped=0):
    path.write_text(f'<testsuites><testsuite tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"/></testsuites>')
    return path


def test_cases_of_pytest_are_counted(summary, tmp_path, capsys):
    assert summary.main(f"tpu=pytest:0:{report(tmp_path / 'a.xml', 7, skipped=2)}") == 0
    assert capsys.readouterr().out.splitlines() == ["tpu: 5 passed, 0 failed, 2 skipped", "5 passed, 0 failed"]
    assert summary.main(f"tpu=pytest:1:{report(tmp_path / 'b.xml', 7, failures=1, errors=1)}") == 1
    assert capsys.readouterr().out.splitlines()[-1] == "5 passed, 2 failed"


def test_a_run_without_report_failed(summary, tmp_path, capsys):
    assert summary.main(f"tpu=pytest:139:{tmp_path / 'none.xml'}") == 1
    assert capsys.readouterr().out.splitlines() == ["pytest ended with 139", "tpu: 0 passed, 1 failed, 0 skipped", "0 passed, 1 failed"]
    assert summary.main("gpu=failed:its environment could not be made") == 1
    assert "gpu: its environment could not be made" in capsys.readouterr().out


def test_lanes_add_up_and_skipped_ones_say_so(summary, tmp_path, capsys):
    xml = report(tmp_path / "test.xml", 3)
    events = [{"testResult": {"status": "PASSED", "testActionOutput": [{"name": "test.xml", "uri": f"file://{xml}"}]}},
              {"id": {"targetCompleted": {"label": "//packages/ir:broken"}}, "completed": {"success": False}}]
    (tmp_path / "events").write_text("\n".join(map(json.dumps, events)))
    assert summary.main(f"py311=1:{tmp_path / 'events'}", "py313=skipped:No Python 3.13 was found") == 1
    out = capsys.readouterr().out.splitlines()
    assert "//packages/ir:broken did not build" in out
    assert "py313: skipped. No Python 3.13 was found; nothing was tested in this lane" in out
    assert out[-1] == "3 passed, 1 failed"


# The collectives that ci/tpu reads out of compiled HLO


@pytest.fixture(scope="module")
def hlo_collectives():
    return module("ci/tpu/hlo_collectives.py")


@pytest.mark.parametrize("line, kind, size, group", [
    ("  %a = f32[8,4]{1,0} all-reduce(%x), channel_id=1, replica_groups={{0,1},{2,3}}, to_apply=%add", "all-reduce", 128, 2),
    ("  %a = (f32[8]{0:T(256)S(1)}, /*index=1*/bf16[2]{0}) all-reduce(%x, %y), replica_groups=[2,4]<=[8]", "all-reduce", 36, 4),
    ("  %g = bf16[4,256]{1,0:T(8,128)(2,1)} all-gather(%p), replica_groups=mesh['x'=4,'y'=2] {'x','y'}", "all-gather", 2048, 8),
    ("  %s = (f32[2]{0}, f32[8]{0}) all-gather-start(%p), replica_groups={{0,1,2,3}}", "all-gather", 32, 4),
    ("  %r = f32[2]{0} reduce-scatter(%p), replica_groups={{0,1,2,3}}, to_apply=%add", "reduce-scatter", 32, 4),
    ("  %p = pred[16]{0} collective-permute(%x), source_target_pairs={{0,1}}", "collective-permute", 16, 0),
])
def test_a_collective_is_read(hlo_collectives, line, kind, size, group):
    (found,) = hlo_collectives.collectives("ENTRY %main (x: f32[8]) -> f32[8] {\n" + line)
    assert (found.kind, found.bytes, found.group_size) == (kind, size, group)


def test_what_goes_on_in_several_fusions_counts_once(hlo_collectives):
    line = "  %all-gather.{} = f32[8]{{0}} all-gather(%p), channel_id=3, replica_groups={{{{0,1}}}}"
    hlo = "\n".join(["%fusion.1 (p: f32[4]) -> f32[8] {", line.format(1), "%fusion.2 (p: f32[4]) -> f32[8] {", line.format(2)])
    assert hlo_collectives.bytes_by_kind(hlo) == {"all-gather": 32}
    cut = "%all-reduce-scatter.1 (p: f32[8]) -> f32[2] {\n  %a = f32[8]{0} all-reduce(%p), channel_id=4, replica_groups={{0,1,2,3}}"
    assert hlo_collectives.bytes_by_kind(cut) == {"reduce-scatter": 32}
    assert not hlo_collectives.collectives("  %b = f32[8]{0} get-tuple-element(%all-reduce.1), index=2")
