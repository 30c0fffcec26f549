"""The page of `laminax.explain` in a real browser: its script links the parts of a program, and nothing fails or overflows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from block_programs import looped

import laminax

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--virtual-time-budget=2000")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs a Chromium, which this machine has not")

# Runs after the page's own script, and leaves what it found in the document.
PROBE = """
<script>
const found = {errors: window.failures};
const shown = name => [...document.querySelectorAll(name)];
const row = shown("td.c").find(cell => cell.textContent.includes("jnp.sin(c @ w)")).parentElement;
row.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
found.hovered = shown(".on").length;
found.places = [...new Set(shown(".on").map(element => element.dataset.p))].length;
document.body.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
found.left = shown(".on").length;
row.click();
document.body.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
found.pinned = shown(".pin").length;
const pre = document.getElementById("text0"), first = pre.querySelector(".pin").getBoundingClientRect(), box = pre.getBoundingClientRect();
found.inView = first.top >= box.top && first.bottom <= box.bottom;
shown(".tabs button")[2].click();
found.visible = shown(".panes .pane:nth-child(2) .scroll").map(element => !element.hidden);
row.click();
found.unpinned = shown(".pin").length + shown(".on").length;
const chart = document.querySelector("svg[data-points]"), area = chart.getBoundingClientRect();
chart.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: area.left + area.width / 2, clientY: area.top + 5}));
found.tip = document.querySelector(".tip").textContent;
found.wider = document.documentElement.scrollWidth - window.innerWidth;
found.background = getComputedStyle(document.body).backgroundColor;
document.documentElement.dataset.found = JSON.stringify(found);
</script>
"""


def probed(tmp_path, *flags: str) -> dict:
    text = laminax.explain(laminax.grad(looped), np.ones((64, 64), np.float32), np.ones((32, 64), np.float32)).html()
    text = text.replace("<head>", "<head><script>window.failures = []; window.onerror = text => failures.push(text);</script>", 1)
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", PROBE + "</body>"))
    done = subprocess.run([BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, "--dump-dom", page.as_uri()],
                          capture_output=True, text=True, timeout=120)
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found is not None, done.stderr
    return json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&"))


def test_the_script_links_the_parts(tmp_path):
    found = probed(tmp_path, "--window-size=1400,900")
    assert found["errors"] == []
    assert found["hovered"] > 10 and found["places"] == 1 and found["left"] == 0
    assert found["pinned"] == found["hovered"] and found["inView"] and found["unpinned"] == 0
    assert found["visible"] == [False, False, True]
    assert re.match(r"step \d+ of \d+: [\d.]+ kB in use, ", found["tip"])
    assert found["wider"] <= 0


def test_a_phone_is_wide_enough_and_dark_is_dark(tmp_path):
    found = probed(tmp_path, "--window-size=500,900", "--force-dark-mode", "--blink-settings=preferredColorScheme=0")
    assert found["errors"] == [] and found["wider"] <= 0
    assert max(map(int, re.findall(r"\d+", found["background"])[:3])) < 60
