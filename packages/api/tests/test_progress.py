"""The line in a terminal while something is traced or compiled for long."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

_SLOW = """
import time
import laminax

@laminax.jit
def inner(x):
    return x * 2

@laminax.jit
def slow(x):
    y = inner(x)
    time.sleep(2.7)
    return y

slow(1.0)
print("done")
"""


def in_terminal(code: str, **environment: str) -> str:
    """What a process writes whose output is a terminal."""
    pty = pytest.importorskip("pty")
    outside, inside = pty.openpty()
    pytest.importorskip("termios").tcsetwinsize(inside, (24, 100))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=inside, stderr=inside, env={**os.environ, **environment})
    os.close(inside)
    written = b""
    while True:
        try:
            part = os.read(outside, 4096)
        except OSError:  # Linux says so of a terminal that nobody writes to any more
            break
        if not part:
            break
        written += part
    os.close(outside)
    assert process.wait() == 0, written
    return written.decode()


def test_a_long_trace_shows_a_line_which_vanishes():
    pytest.importorskip("tqdm")
    text = in_terminal(_SLOW)
    seconds = [float(found) for found in re.findall(r"Tracing jit\(slow\), (\d\.\d) s", text)]
    assert seconds and 1.9 <= seconds[0] <= 3.5 and seconds == sorted(seconds)
    assert re.search(r"\r *\r", text) and text.rstrip().endswith("done")  # wiped out
    assert "inner" not in text


def test_the_option_switches_it_off():
    assert in_terminal(_SLOW, LAMINAX_SHOW_PROGRESS="0").split() == ["done"]


def test_nothing_is_shown_in_a_pipe():
    done = subprocess.run([sys.executable, "-c", _SLOW], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["done"], "")


def test_nothing_is_shown_of_what_is_fast():
    assert in_terminal(_SLOW.replace("2.7", "0.3")).split() == ["done"]


def test_regions_are_counted():
    from laminax._src.base.progress import Running
    started = Running("Compiling", "jit(step)", 5)
    assert re.fullmatch(r"Compiling jit\(step\), 0\.\d s, region 1 of 5", started.text())
    started.done = 3
    assert started.text().endswith("region 4 of 5")
    started.done = 5
    assert started.text().endswith("region 5 of 5")


def test_an_error_ends_it():
    text = in_terminal(_SLOW.replace("return y\n\nslow(1.0)", "raise KeyError('x')\n\ntry:\n    slow(1.0)\nexcept KeyError:\n    pass")
                       .replace('print("done")', "from laminax._src.base import progress\nprint('left', progress._running)"))
    assert "Tracing jit(slow)" in text and text.rstrip().endswith("left []")
