"""`laminax.explain`: numbers that were counted by hand, memory that agrees with the compiler's, pages that are well-formed and link."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from block_programs import always_cut, looped, loss

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax._src.explaining.structure import repeated
from laminax._src.inspecting.compiled_text import read_module
from laminax._src.inspecting.memory import memory_of_module


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


# Floating-point operations, counted by hand


def product(x, w):
    return x @ w


def test_a_product_of_matrices():
    report = laminax.explain(product, ones(8, 16), ones(16, 4))
    assert report.line("x @ w").flops == report.flops == 2 * 8 * 16 * 4


def test_a_batched_product():
    report = laminax.explain(lambda x, w: jnp.einsum("bij,bjk->bik", x, w), ones(5, 8, 16), ones(5, 16, 4))
    assert report.flops == 5 * 2 * 8 * 16 * 4


def test_a_complex_product_has_four_real_ones():
    report = laminax.explain(product, ones(8, 16).astype(np.complex64), ones(16, 4).astype(np.complex64))
    assert report.flops == 4 * 2 * 8 * 16 * 4


@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution(groups):
    def convolution(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)

    report = laminax.explain(convolution, ones(2, 10, 12, 6), ones(3, 5, 6 // groups, 8))
    # each of 2 x 8 x 8 places of 8 channels is a sum of 3 x 5 x (6 / groups) products
    assert report.flops == 2 * (2 * 8 * 8 * 8) * (3 * 5 * 6 // groups)


def test_the_derivative_of_a_product_has_two_further_ones():
    def loss(x, w):
        y = x @ w
        return jnp.sum(y * y)

    report = laminax.explain(laminax.grad(loss, argnums=(0, 1)), ones(8, 16), ones(16, 4))
    assert report.line("y = x @ w").flops == 3 * 2 * 8 * 16 * 4


def test_loops_count_each_time():
    def power(x, w):
        return lax.fori_loop(0, 7, lambda i, y: y @ w, x)

    assert laminax.explain(power, ones(8, 16), ones(16, 16)).line("y @ w").flops == 7 * 2 * 8 * 16 * 16


def test_of_a_branch_the_most_expensive_counts():
    def either(x, w):
        return lax.cond(x[0, 0] > 0, lambda: x @ w, lambda: x)

    assert laminax.explain(either, ones(8, 16), ones(16, 16)).line("x @ w").flops > 2 * 8 * 16 * 16 - 1


def test_elementwise_operations_and_sums():
    def mean_square(x):
        squares = x * x
        return squares.sum()

    report = laminax.explain(mean_square, ones(10, 3))
    assert report.line("x * x").flops == 30
    assert report.line("squares.sum()").flops == 30
    assert report.line("x * x").operations == 1


def test_whole_numbers_are_no_flops():
    assert laminax.explain(lambda i: i * i + 1, np.arange(10, dtype=np.int32)).flops == 0


# Bytes


def test_the_bytes_of_an_elementwise_program_are_its_operands_and_results():
    def scaled(x, y):
        return jnp.sin(x) * y + 1.0

    report = laminax.explain(scaled, ones(1000), ones(1000))
    assert report.bytes == 3 * 4000  # fused: two arrays are read and one is written


# Memory


def two_layers(params, x):
    h = jnp.tanh(x @ params["first"])
    y = jnp.tanh(h @ params["second"])
    return jnp.sum(y * y)


def sorted_gram(x):
    gram = x @ x.T
    return jnp.sort(gram, axis=0) @ gram


def branching(x):
    return lax.cond(x[0, 0] > 0, lambda: jnp.sort(x @ x.T, axis=0) @ x, lambda: x + 1)


PROGRAMS = {
    "gradient": (laminax.grad(two_layers), ({"first": ones(64, 128), "second": ones(128, 64)}, ones(32, 64))),
    "scan": (looped, (ones(64, 64), ones(32, 64))),
    "gradient of a scan": (laminax.grad(looped), (ones(64, 64), ones(32, 64))),
    "sort": (sorted_gram, (ones(200, 30),)),
    "branches": (branching, (ones(100, 20),)),
    "many results": (lambda x: (x @ x, jnp.sin(x), x.T @ x), (ones(50, 50),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_agrees_with_the_compiler(name):
    fun, args = PROGRAMS[name]
    report = laminax.explain(fun, *args)
    stats = laminax.jit(fun).lower(*args).compile().memory_analysis()
    wanted = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes + stats.temp_size_in_bytes
    memory = report.memory
    assert memory.peak == wanted
    # what our reading of the schedule finds alive is what the compiler made room for
    assert max(memory.in_use) == pytest.approx(wanted, rel=0.05)
    assert sum(b.size for b in memory.at_peak) == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_two_values_are_in_one_place_at_once(name):
    from laminax._src.inspecting.assignments import read_assignment
    from laminax._src.inspecting.compiled_text import read_module
    from laminax._src.inspecting.schedule import schedule
    fun, args = PROGRAMS[name]
    executable = laminax.jit(fun).lower(*args).compile()._program.executable
    stats = executable.memory_analysis()
    values = read_assignment(stats.serialized_buffer_assignment_proto, executable.hlo_modules()[0].as_serialized_hlo_module_proto())
    lives = [life for life in schedule(read_module(executable.as_text()), values).lives
             if life.value.allocation is not None and life.value.allocation.kind == "temporary"]
    for i, a in enumerate(lives):
        for b in lives[:i]:
            is_apart = a.value.offset + a.value.size <= b.value.offset or b.value.offset + b.value.size <= a.value.offset
            assert is_apart or a.value.allocation.number != b.value.allocation.number or a.last <= b.first or b.last <= a.first, (a, b)


def test_buffers_have_types_lines_and_names():
    report = laminax.explain(sorted_gram, ones(200, 30))
    at_peak = report.memory.at_peak
    assert any(b.type == "f32[200,200]" and b.size == 160_000 and b.place.text == "gram = x @ x.T" for b in at_peak)
    assert any(b.kind == "argument" and b.name == "x" and b.size == 24_000 for b in at_peak)
    assert any(b.kind == "result" and b.name.startswith("result") and b.size == 160_000 for b in report.memory.buffers)
    assert report.line("gram = x @ x.T").held >= 160_000


def test_donated_arguments_count_once():
    step = laminax.jit(lambda x, y: (x @ y) + x, donate_argnums=0)
    report = laminax.explain(step, ones(128, 128), ones(128, 128))
    stats = step.lower(ones(128, 128), ones(128, 128)).compile().memory_analysis()
    assert report.memory.shared == stats.alias_size_in_bytes == 65_536
    assert report.memory.peak == 2 * 65_536 + stats.temp_size_in_bytes


class WithoutAssignment:
    """An executable of a platform that does not tell its buffers."""

    def __init__(self, executable) -> None:
        self.executable = executable

    def __getattr__(self, name):
        return getattr(self.executable, name)

    def memory_analysis(self):
        stats = self.executable.memory_analysis()
        return SimpleNamespace(**{name: getattr(stats, name) for name in dir(stats) if name.endswith("size_in_bytes")})


@pytest.mark.parametrize("name", ["sort", "many results"])
def test_without_an_assignment_each_result_is_a_value(name):
    fun, args = PROGRAMS[name]
    executable = laminax.jit(fun).lower(*args).compile()._program.executable
    module = read_module(executable.as_text())
    told, _ = memory_of_module(module, executable, ["x"], [])
    untold, _ = memory_of_module(module, WithoutAssignment(executable), ["x"], [])
    assert (untold.arguments, untold.results) == (told.arguments, told.results)
    assert told.peak * 0.8 <= untold.peak <= told.peak * 1.5  # what may share memory is not known
    assert {b.type for b in untold.at_peak} >= {b.type for b in told.at_peak if b.kind == "argument"}


def test_a_program_of_regions_has_the_memory_of_its_sequence(monkeypatch):
    always_cut(monkeypatch)
    layers, width = 10, 128
    weights = [{"inner": ones(width, width), "scale": ones(width), "out": ones(width, width)} for _ in range(layers)]

    gradient = laminax.jit(laminax.grad(loss))
    report = laminax.explain(gradient, weights, ones(32, width))
    assert report.regions.startswith("in ")
    stats = gradient.lower(weights, ones(32, width)).compile().memory_analysis()
    assert report.memory.peak == stats.peak_memory_in_bytes
    assert max(report.memory.in_use) == pytest.approx(stats.peak_memory_in_bytes, rel=0.05)
    assert sum(b.size for b in report.memory.at_peak) == pytest.approx(stats.peak_memory_in_bytes, rel=0.05)
    assert report.line('y @ w["inner"]').flops >= layers * 12 * 3 * (2 * 32 * width * width)
    assert sum(count for count, _ in repeated(report.structure.blocks)) > layers
    assert len(report.html()) < 3_000_000


# What else a report says


def test_a_function_that_was_called_before_says_why_it_was_traced_again():
    @laminax.jit
    def scale(params, x):
        return params["w"] * x

    scale({"w": ones(3)}, ones(3))
    scale({"w": ones(3)}, ones(4, 3))
    report = laminax.explain(scale, {"w": ones(1)}, ones(4, 3))
    assert [trace.is_this for trace in report.history.traces] == [False, False, True]
    assert report.history.traces[1].reasons == ("at x, now f32[4,3] and before f32[3]",)
    assert report.history.traces[2].reasons == ("at params['w'], now f32[1] and before f32[3]",)
    assert not report.history.was_traced and not report.history.was_compiled
    again = laminax.explain(scale, {"w": ones(1)}, ones(4, 3))
    assert again.history.was_traced and again.history.was_compiled and not again.history.seconds("compiling")
    assert {phase.what for phase in report.history.phases} == {"tracing", "lowering", "compiling"}


def test_the_structure_has_calls_loops_branches_and_scopes():
    @laminax.jit
    def inner(x):
        return jnp.sin(x)

    def outer(x):
        with laminax.named_scope("head"):
            x = inner(x)
        x, _ = lax.scan(lambda c, _: (c * 2, None), x, None, length=4)
        return lax.cond(x[0] > 0, lambda: x, lambda: -x)

    def kinds(block):
        yield block.kind, block.name, block.times
        for child in block.blocks:
            yield from kinds(child)

    found = list(kinds(laminax.explain(outer, ones(3)).structure))
    assert ("program", "outer", 1) == found[0]
    assert ("scope", "head", 1) in found and ("call", "jit inner", 1) in found and ("loop", "scan", 4) in found
    assert [name for kind, name, _ in found if kind == "branch"][-2:] == ["branch 0", "branch 1"]


def test_texts_lead_to_lines():
    report = laminax.explain(two_layers, {"first": ones(64, 128), "second": ones(128, 64)}, ones(32, 64))
    for text, operation in ((report.jaxpr, "dot_general"), (report.stablehlo, "stablehlo.dot_general"), (report.compiled, "dot(")):
        places = [place for line, place in zip(text.lines, text.places) if operation in line]
        assert {place.text for place in places if place is not None} == \
            {'h = jnp.tanh(x @ params["first"])', 'y = jnp.tanh(h @ params["second"])'}
    assert not any(" loc(#" in line or "metadata=" in line for text in (report.stablehlo, report.compiled) for line in text.lines)


def test_shares_of_the_time_add_up():
    report = laminax.explain(*PROGRAMS["gradient of a scan"][:1], *PROGRAMS["gradient of a scan"][1])
    assert sum(line.share for line in report.lines) == pytest.approx(1, abs=0.01)


def test_shares_of_the_time_follow_the_work():
    """Three times the numbers in memory take three times as long, and so does a product with three times the contracted axis."""

    def elementwise(long, short):
        a = jnp.tanh(long)
        b = jnp.tanh(short)
        return a, b

    def products(long, short, right):
        a = long @ jnp.concatenate([right] * 3)
        b = short @ right
        return a, b

    for report in (laminax.explain(elementwise, ones(3 << 20), ones(1 << 20)),
                   laminax.explain(products, ones(512, 3 * 512), ones(512, 512), ones(512, 512))):
        share = {line.text.split(" ")[0]: line.share for line in report.lines if " = " in line.text}
        assert share["a"] / share["b"] == pytest.approx(3, rel=0.1)
        assert share["a"] + share["b"] == pytest.approx(1, abs=0.1)


def test_the_summary():
    text = str(laminax.explain(sorted_gram, ones(200, 30)))
    assert "sorted_gram on " in text and "gram = x @ x.T" in text and "at once = arguments 24 kB + results 160 kB" in text
    assert "argument x" in text


def with_references(x):
    box = laminax.new_ref(x)
    box[...] = box[...] * 2
    return box[...]


def calling_back(x):
    laminax.debug.print("x is {}", x)
    return laminax.pure_callback(np.sin, laminax.ShapeDtypeStruct((8, 8), np.float32), x)


ALL_KINDS = {
    "references": (with_references, (ones(8, 8),)),
    "callbacks": (calling_back, (ones(8, 8),)),
    "keys": (lambda key: laminax.random.normal(key, (4,)), (laminax.random.key(0),)),
    "static": (laminax.jit(lambda x, n: x * n, static_argnums=1), (ones(8), 3)),
    "partial": (partial(product, ones(8, 8)), (ones(8, 8),)),
    "mapped": (laminax.vmap(lambda row: row @ ones(8, 8)), (ones(8, 8),)),
    "no arguments": (lambda: 3.0, ()),
    "a closed-over array": (lambda x: x + ones(300), (ones(300),)),
    "nothing to do": (lambda x: x, (ones(8),)),
    "a factorization": (jnp.linalg.svd, (ones(8, 8),)),
    "branches": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda y: y @ y], x), (1, ones(8, 8))),
    "empty": (lambda x: x @ x.T, (ones(0, 3),)),
    "None": (lambda tree: tree["a"] * 2, ({"a": ones(3), "b": None},)),
}


@pytest.mark.parametrize("name", ALL_KINDS)
def test_all_kinds_of_functions(name):
    fun, args = ALL_KINDS[name]
    report = laminax.explain(fun, *args)
    check_page(report.html())
    assert str(report).count("\n") > 4
    memory = report.memory
    assert sum(b.size for b in memory.at_peak) + memory.gaps == memory.peak >= max(memory.in_use)


def test_loops_of_unknown_length_count_once_and_it_is_said():
    def until(x):
        return lax.while_loop(lambda c: c.sum() < 1e6, lambda c: c @ x, x)

    report = laminax.explain(until, ones(8, 8))
    assert report.has_unknown_loops and "count once" in str(report)
    assert report.line("c @ x").flops >= 2 * 8**3


# The difference of two reports


def test_a_difference():
    def before(x):
        return jnp.sum(x @ x)

    def after(x):
        y = jnp.sort(x @ x)
        return jnp.sum(y @ x)

    difference = laminax.explain.diff(laminax.explain(before, ones(32, 32)), laminax.explain(after, ones(32, 32)))
    old, new = difference.totals["flops"]
    assert (old, new) == (2 * 32**3 + 1024, 4 * 32**3 + 1024)
    assert difference.totals["peak memory"][1] > difference.totals["peak memory"][0]
    assert any(b is not None and "jnp.sort" in b.text for _, b in difference.lines)
    assert any(line.startswith("+") and "sort" in line for line in difference.program)
    assert "flops" in str(difference) and "y = jnp.sort(x @ x)" in str(difference)
    assert not laminax.explain.diff(difference.after, difference.after).lines
    check_page(difference.html())


# Errors


def test_what_cannot_be_explained():
    with pytest.raises(TypeError, match="explain: Expected a callable value, got 3 of type int"):
        laminax.explain(3)
    (n,) = laminax.export.symbolic_shape("n")
    with pytest.raises(NotImplementedError, match="explain: gram has symbolic sizes.*Give arguments of known shapes"):
        laminax.explain(gram, *[laminax.ShapeDtypeStruct((n,), np.float32)] * 2)
    with pytest.raises(TypeError, match=r"explain.diff: after must be a report, as laminax.explain\(f, \*args\) returns it, got 3"):
        laminax.explain.diff(laminax.explain(jnp.sin, 1.0), 3)
    with pytest.raises(KeyError, match="0 lines with costs contain 'nothing'"):
        laminax.explain(sorted_gram, ones(4, 4)).line("nothing")


# The page


class Page(HTMLParser):
    """Reads a page; notes its elements, and that they are closed in order."""

    VOID = {"meta", "br", "line", "path", "rect", "img", "link", "input"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def check_page(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open
    for _, attributes in page.tags:  # nothing comes from a network
        assert not set(attributes) & {"src", "integrity"}
        assert attributes.get("href", "#").startswith("#")
    assert "http" not in re.sub(r"http://www\.w3\.org/\S*", "", text)
    return page


def test_the_page_is_one_file_whose_parts_are_linked(tmp_path):
    path = tmp_path / "report.html"
    fun, args = PROGRAMS["gradient of a scan"]
    report = laminax.explain(fun, *args)
    assert report.html(path) == path.read_text()
    page = check_page(path.read_text())
    tagged = [int(attributes["data-p"]) for _, attributes in page.tags if "data-p" in attributes]
    row = next(i for i, line in enumerate(report.lines) if "jnp.sin(c @ w)" in line.text)
    by_tag = [tag for tag, attributes in page.tags if attributes.get("data-p") == str(row)]
    assert set(tagged) == set(range(len(report.lines)))
    assert by_tag[0] == "tr" and by_tag.count("span") > 6  # the source, and lines of the three texts
    assert "c = jnp.sin(c @ w)" in "".join(page.texts)
    targets = {attributes["href"][1:] for tag, attributes in page.tags if tag == "a"}
    assert targets <= {attributes.get("id") for _, attributes in page.tags}


def test_what_comes_from_a_program_is_escaped():
    def evil(x):
        with laminax.named_scope("<script>alert(1)</script>"):
            return x["<u>&\"'"] * 2  # <i>

    evil.__name__ = "<img onerror=x>"
    page = check_page(laminax.explain(evil, {"<u>&\"'": ones(3)}).html())
    assert [tag for tag, _ in page.tags].count("script") == 1 and not {"u", "i", "img"} & {tag for tag, _ in page.tags}
    assert "<script>alert(1)</script>" in "".join(page.texts)


def test_the_repr_of_notebooks():
    text = laminax.explain(product, ones(8, 16), ones(16, 4))._repr_html_()
    page = check_page(text)
    (tag, attributes), = page.tags
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts"
    check_page(attributes["srcdoc"])


def test_importing_laminax_does_not_load_it():
    code = "import sys, laminax, laminax.numpy; laminax.jit(lambda x: x)(1.0); print([m for m in sys.modules if 'explaining' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


_SCRIPT = """
import sys
import numpy as np
import laminax, laminax.numpy as jnp

laminax.config.update("persistent_cache_min_compile_time_secs", 0.0)


def curve(x):
    return jnp.sort(x @ x, axis=0) @ x


x = np.ones((32, 32), np.float32)
if len(sys.argv) > 1:
    laminax.jit(curve)  # another function
    f = laminax.jit(curve)
    f(x)
else:
    f = curve
print(*[f"{line.place.line}:{line.flops:.0f}:{line.bytes > 0}" for line in laminax.explain(f, x).lines])
"""


@pytest.mark.parametrize("arguments", [[], ["called before"]])
def test_a_program_from_the_disk_has_the_lines_of_today(tmp_path, arguments):
    script, cache = tmp_path / "curve.py", tmp_path / "cache"
    environment = {**os.environ, "LAMINAX_COMPILATION_CACHE_DIR": str(cache), "LAMINAX_ENABLE_COMPILATION_CACHE": "1"}
    found = []
    for text in (_SCRIPT, "\n" * 20 + _SCRIPT):
        script.write_text(text)
        done = subprocess.run([sys.executable, str(script), *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    assert found[0] == [f"10:{4 * 32**3}:True"] and found[1] == [f"30:{4 * 32**3}:True"]


def test_values_in_the_memory_of_results_are_held_by_their_lines():
    def fun(x):
        y = jnp.sort(x @ x, axis=0)
        return jnp.sort(y @ x, axis=1), jnp.sort(x, axis=0)

    report = laminax.explain(fun, ones(100, 100))
    assert report.line("y = jnp.sort").held >= 40_000


# Out of memory


def gram(x, y):
    """Three sorted matrices are there at once; each is sorted in its place, or with its keys."""
    g = x[:, None] * y[None, :]
    return (jnp.sort(g, axis=0) + jnp.sort(g, axis=1) + jnp.sort(-g, axis=0)).sum()


@pytest.mark.skipif(laminax.default_backend() != "cpu", reason="asks for as much memory as no host has")
@pytest.mark.parametrize("is_compiled_ahead", [False, True])
def test_an_error_for_lack_of_memory_names_the_largest_buffers(is_compiled_ahead):
    x = ones(2**24)
    with pytest.raises(laminax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED") as caught:
        fun = laminax.jit(gram)
        laminax.block_until_ready((fun.lower(x, x).compile() if is_compiled_ahead else fun)(x, x))
    lines = caught.value.__notes__[0].splitlines()
    title = "the compiled gram" if is_compiled_ahead else "jit(gram)"
    assert lines[0].startswith(f"{title} needs ") and lines[0].endswith(" PB of memory at once. Its largest buffers are:")
    assert len(lines) == 5 and "laminax.explain(f, *args)" in lines[-1]
    for line in lines[1:4]:  # of 2**48 elements, 4 or 8 bytes each
        assert re.match(r"  (1.13 PB, f32|2.25 PB, s64)\[[\d,]*\]: \w+, made at test_explain.py:\d+$", line)


@pytest.mark.skipif(laminax.default_backend() != "cpu", reason="what is asked of programs on a host")
@pytest.mark.parametrize("fun, shape", [
    (lambda x: jnp.tanh(x @ x).sum(), (64, 64)),
    (laminax.grad(lambda x: laminax.lax.scan(lambda c, _: (jnp.sin(c @ c), c), x, None, length=9)[1].sum()), (8, 8)),
    (lambda x: jnp.sort(jnp.fft.fft(x), axis=0), (16, 16)),
    (lambda x: laminax.random.normal(laminax.random.key(0), x.shape) + x, (100,)),
])
def test_the_compiler_is_not_asked_what_a_small_program_needs(fun, shape, monkeypatch):
    """Its answer takes as long as reading all buffers of the program does. What the program computes bounds what it needs."""
    program = laminax.jit(fun).lower(np.ones(shape, np.float32)).compile()._program
    assert 4 * program.value_bytes >= program._needed_bytes()
    monkeypatch.setattr(type(program), "_needed_bytes", lambda self: pytest.fail("the compiler was asked"))
    assert not program.may_exceed_memory


def test_a_program_that_no_memory_holds_can_be_explained():
    struct = laminax.ShapeDtypeStruct((2**24,), np.float32)
    report = laminax.explain(gram, struct, struct)
    assert report.memory.peak > 2**50
    assert report.memory.at_peak[0].place.text.startswith(("g = x[:, None]", "return (jnp.sort"))
