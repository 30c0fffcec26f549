"""What notebooks show of arrays, trees and programs."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax._src.explaining.notebooks import array_html, load_ipython_extension, tree_html, unload_ipython_extension


class Shown(HTMLParser):
    """The words and elements of what is shown; elements must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.titles: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.titles += [value for name, value in attrs if name == "title"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_a_matrix():
    shown = Shown(jnp.arange(6, dtype=jnp.float32).reshape(2, 3)._repr_html_())
    assert shown.text == "float32[2,3] on cpu:0 0 1 2 3 4 5" or shown.text.startswith("float32[2,3] on ")
    assert shown.tags.count("tr") == 2 and shown.tags.count("td") == 6


def test_of_a_large_array_the_ends_are_shown():
    shown = Shown(jnp.zeros((100, 50))._repr_html_())
    assert shown.tags.count("tr") == 9 and shown.tags.count("td") == 8 * 9 + 1


def test_of_a_large_array_the_right_ends_are_shown():
    whole = np.arange(300 * 200, dtype=np.float32).reshape(300, 200)
    ends = [*range(4), *range(-4, 0)]
    wanted = " ".join(" ".join(f"{v:.5g}" if v is not None else "\u22ef" for v in (*row[:4], None, *row[4:]))
                      for row in whole[np.ix_(ends, ends)][:4])
    assert wanted in Shown(jnp.asarray(whole)._repr_html_()).text


def test_of_more_axes_the_first_matrix_is_shown():
    x = jnp.arange(24).reshape(2, 3, 4)
    assert "the first matrix, [0, :, :] 0 1 2 3 4 5 6 7 8 9 10 11" in Shown(x._repr_html_()).text


@pytest.mark.parametrize("value", [1.5, np.ones((2, 3, 4)), np.zeros((0, 3)), [True, False], np.ones(3, np.complex64)])
def test_arrays_of_all_ranks(value):
    x = jnp.asarray(value)
    assert Shown(x._repr_html_()).text.startswith(f"{x.dtype}[{','.join(map(str, x.shape))}]")


def test_what_has_no_values_to_show():
    x = jnp.ones(3)
    x.delete()
    assert Shown(x._repr_html_()).text == "float32[3] deleted"
    assert "key<fry>[]" in Shown(laminax.random.key(0)._repr_html_()).text


def test_trees_fold():
    tree = {"layers": [{"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, None], "<i>name": "<b>"}
    shown = Shown(tree_html(tree))
    assert shown.text.startswith("2 arrays, 9 elements, 36 bytes dict of 2")
    assert "['layers'] : list of 2" in shown.text or "['layers']: list of 2" in shown.text
    assert "float32[2,3]" in shown.text and "i" not in shown.tags and "'<b>'" in shown.text
    assert shown.tags.count("details") == 5  # three containers and two arrays


def test_trees_fetch_no_large_arrays():
    shown = Shown(tree_html({"w": jnp.ones((300, 200)), "v": jnp.ones(2)}))
    assert shown.tags.count("table") == 1 and "float32[300,200]" in shown.text


def test_the_extension_of_ipython():
    class Formatter(dict):
        def for_type(self, kind, function):
            self[kind] = function

    class Shell:
        class display_formatter:  # noqa: N801 (IPython's name)
            formatters = {"text/html": Formatter()}

    load_ipython_extension(Shell)
    functions = Shell.display_formatter.formatters["text/html"]
    assert set(functions) == {dict, list, tuple}
    assert "float32[3]" in functions[dict]({"w": jnp.ones(3)})
    assert functions[list]([1, 2]) is None and functions[dict]({1: 2, "a": 3}) is None  # not ours
    unload_ipython_extension(Shell)
    assert not functions
    assert laminax.load_ipython_extension is load_ipython_extension


def test_programs():
    @laminax.jit
    def inner(x):
        for _ in range(12):
            x = jnp.sin(x)
        return x

    closed = laminax.make_jaxpr(lambda x: inner(x) + inner(x))(1.0)
    shown = Shown(closed._repr_html_())
    assert shown.text.startswith("3 equations; takes f32[]")
    assert shown.tags.count("details") == 2 and "let inner = ..." in shown.text and "sin" in shown.text
    assert any("test_notebooks.py" in title for title in shown.titles)
    assert closed._repr_html_() == closed.jaxpr._repr_html_()


def test_treescope_draws_our_arrays():
    treescope = pytest.importorskip("treescope")
    from treescope.type_registries import lookup_ndarray_adapter
    x = jnp.arange(12.0).reshape(3, 4)
    adapter = lookup_ndarray_adapter(x)
    assert [axis.size for axis in adapter.get_axis_info_for_array_data(x)] == [3, 4]
    data, _ = adapter.get_array_data_with_truncation(x, None, (None, None))
    np.testing.assert_array_equal(data, np.arange(12.0).reshape(3, 4))
    sharding = adapter.get_sharding_info_for_array_data(x)
    assert sharding.shard_shape == (3, 4) and sharding.fully_replicated
    assert "laminax.Array float32[3,4]" in treescope.render_to_text({"w": x}) or "Array" in treescope.render_to_text({"w": x})
    assert "<div" in treescope.render_array(x)._repr_html_() or treescope.render_array(x) is not None


def test_an_array_of_numpy_too():
    assert Shown(array_html(np.ones((2, 2)))).text == "float64[2,2] 1 1 1 1"
