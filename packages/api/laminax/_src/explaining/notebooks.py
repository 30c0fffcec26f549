"""Values as a notebook shows them: arrays with shape, dtype, sharding and values, trees that fold, and what treescope asks for.

Arrays show themselves. Trees are containers of Python's, so their look is an extension of IPython, which the user loads:
`%load_ext laminax`. Whatever comes from values is escaped.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.pytrees.pytree import keystr, tree_flatten_with_path
from laminax_ir.types.avals import is_array_like

_EDGE, _LONGEST = 4, 12  # rows or columns shown at each end of those of a large array, and how many are shown of a smaller one
_MOST_CHILDREN, _MOST_OPEN = 200, 1
_LARGE = 10_000  # elements; trees show no values of larger arrays
_STYLE = ("<style>.laminax-value{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}"
          ".laminax-value table{border-collapse:collapse;font:inherit}"
          ".laminax-value td{padding:0 8px;text-align:right;border:0}.laminax-value summary{cursor:pointer}.laminax-value .m{opacity:.65}"
          ".laminax-value details details,.laminax-value .leaf{margin-left:1.4em}</style>")


def array_html(array: Any) -> str:
    """An array: its type and where it is, and its values; of a large one the values at the ends of its axes."""
    return f'{_STYLE}<div class="laminax-value"><div>{_head(array)}</div>{_values(array)}</div>'


def tree_html(tree: Any) -> str:
    """A pytree, which folds: containers by their keys, arrays by their types, with the values within."""
    leaves = [leaf for _, leaf in tree_flatten_with_path(tree)[0] if is_array_like(leaf)]
    count, size = (sum(getattr(leaf, name, 0) for leaf in leaves) for name in ("size", "nbytes"))
    head = f'<div class="m">{len(leaves)} arrays, {count:,} elements, {size:,} bytes</div>'
    return f'{_STYLE}<div class="laminax-value">{head}{_node("", tree, 0)}</div>'


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext laminax` in IPython and Jupyter: dicts, lists and tuples that hold arrays of laminax are shown as trees that fold.

    Args:
      ipython: the shell, which IPython gives.

    Example:
      >>> from IPython.core.interactiveshell import InteractiveShell  # doctest: +SKIP
      >>> load_ipython_extension(InteractiveShell.instance())  # what %load_ext laminax does  # doctest: +SKIP
    """
    formatter = ipython.display_formatter.formatters["text/html"]
    for kind in (dict, list, tuple):
        formatter.for_type(kind, _tree_or_nothing)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext laminax`: containers look as before.

    Args:
      ipython: the shell, which IPython gives.

    Example:
      >>> from IPython.core.interactiveshell import InteractiveShell  # doctest: +SKIP
      >>> unload_ipython_extension(InteractiveShell.instance())  # what %unload_ext laminax does  # doctest: +SKIP
    """
    formatter = ipython.display_formatter.formatters["text/html"]
    for kind in (dict, list, tuple):
        formatter.pop(kind, None)


def _tree_or_nothing(tree: Any) -> str | None:
    try:
        has_arrays = any(isinstance(leaf, (runtime.ArrayImpl, ExtendedArray)) for _, leaf in tree_flatten_with_path(tree)[0])
    except (TypeError, ValueError):  # no pytree, such as a dict whose keys have no order
        return None
    return tree_html(tree) if has_arrays else None


def _head(array: Any) -> str:
    """`float32[3,4]`, and where it is."""
    name = escape(f"{array.dtype}[{','.join(map(str, array.shape))}]")
    weak = ' <span class="m">weakly typed</span>' if getattr(array, "weak_type", False) else ""
    return f'<b>{name}</b>{weak} <span class="m">{escape(_place(array))}</span>'


def _place(array: Any) -> str:
    """Where an array is: its device, or how it is split over several."""
    if getattr(array, "is_deleted", lambda: False)():
        return "deleted"
    sharding = getattr(array, "sharding", None)
    devices = sorted(getattr(sharding, "device_set", ()), key=lambda device: device.id)
    if not devices:
        return ""
    if len(devices) == 1:
        return f"on {devices[0]}"
    spec = getattr(sharding, "spec", None)
    how = f"split as {tuple(spec)} over" if spec is not None and any(part is not None for part in spec) else "on each of"
    shape = getattr(getattr(sharding, "mesh", None), "shape", None)
    mesh = f", mesh {dict(shape)}" if shape else ""
    return f"{how} {len(devices)} devices ({devices[0].platform}){mesh}"


def _values(array: Any) -> str:
    """The values of an array, if this process has them."""
    if isinstance(array, ExtendedArray) or getattr(array, "is_deleted", lambda: False)():
        return ""
    if not getattr(array, "is_fully_addressable", True):
        return '<div class="m">parts of it are in other processes</div>'
    if array.size == 0:
        return '<div class="m">no elements</div>'
    matrix, note = array, ""
    if array.ndim > 2:
        matrix = array[(0,) * (array.ndim - 2)]
        note = f'<div class="m">the first matrix, [{", ".join("0" for _ in range(array.ndim - 2))}, :, :]</div>'
    shown = [_shown(size) for size in matrix.shape]
    known = [np.array([i for i in indices if i is not None]) for indices in shown]
    values = np.asarray(matrix[np.ix_(*known)] if matrix.ndim and matrix.size > _LARGE else matrix)  # of a large array little is fetched
    if values.size == matrix.size and matrix.ndim:
        values = values[np.ix_(*known)]
    if matrix.ndim < 2:
        values, shown = values.reshape(1, -1), [[0], shown[0] if shown else [0]]
    rows = iter(values)
    body = "".join("<tr><td>&#8942;</td></tr>" if i is None else f"<tr>{_row(next(rows), shown[1])}</tr>" for i in shown[0])
    return f"{note}<table>{body}</table>"


def _row(row: np.ndarray, shown: list[int | None]) -> str:
    numbers = iter(row)
    return "".join("<td>&#8943;</td>" if i is None else f"<td>{escape(_number(next(numbers)))}</td>" for i in shown)


def _shown(length: int) -> list[int | None]:
    """The indices to show, with None for those that are left out."""
    if length <= _LONGEST:
        return [*range(length)]
    return [*range(_EDGE), None, *range(length - _EDGE, length)]


def _number(value: Any) -> str:
    return f"{value:.5g}" if np.issubdtype(value.dtype, np.inexact) else str(value)


def _node(key: str, value: Any, depth: int) -> str:
    name = f"{escape(key)}: " if key else ""
    if isinstance(value, (runtime.ArrayImpl, ExtendedArray, np.ndarray)):
        if value.size > _LARGE:
            return f'<div class="leaf">{name}{_head(value)}</div>'
        return f'<details class="leaf"><summary>{name}{_head(value)}</summary>{_values(value)}</details>'
    children = [(keystr(path), child) for path, child in tree_flatten_with_path(value, is_leaf=lambda child: child is not value)[0]]
    if value is None or [child_key for child_key, _ in children] == [""]:  # a leaf
        text = repr(value)
        return f'<div class="leaf">{name}{escape(text if len(text) <= 200 else text[:200] + "...")}</div>'
    inner = "".join(_node(child_key, child, depth + 1) for child_key, child in children[:_MOST_CHILDREN])
    if len(children) > _MOST_CHILDREN:
        inner += f'<div class="leaf m">and {len(children) - _MOST_CHILDREN} more</div>'
    return (f'<details{" open" if depth <= _MOST_OPEN else ""}><summary>{name}{escape(type(value).__name__)} <span class="m">of '
            f'{len(children)}</span></summary>{inner}</details>')
