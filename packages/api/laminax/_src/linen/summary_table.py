"""Tables of models, drawn by the package rich."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import io
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

import numpy as np

from laminax_ir.pytrees.pytree import tree_leaves

from laminax._src.linen.metadata import is_box, unbox

if TYPE_CHECKING:
    from laminax._src.linen.summary import Row


def drawn(title: str, rows: Sequence[Row], console_kwargs: Mapping[str, Any], table_kwargs: Mapping[str, Any],
          column_kwargs: Mapping[str, Any]) -> str:
    """The rows as a table, with the numbers of variables and their bytes below.

    Raises:
      ImportError: `rich` is not installed.
    """
    try:
        console_module, table_module, text_module = (importlib.import_module(f"rich.{name}") for name in ("console", "table", "text"))
    except ImportError as error:
        raise ImportError("tabulate draws its table with the package rich, which is not installed: install it with `pip install rich`, "
                          "or use module_paths, which needs nothing.") from error
    collections = sorted({name for row in rows for name in (*row.variables, *row.counted)})
    costs = [name for name in ("flops", "vjp_flops") if any(getattr(row, name) is not None for row in rows)]
    table = table_module.Table(show_header=True, show_lines=True, title=f"{title} Summary", **table_kwargs)
    for name in ("path", "module", "inputs", "outputs", *costs, *collections):
        table.add_column(name, **column_kwargs)
    for row in rows:
        method = "" if row.method == "__call__" else f" [dim]({row.method})[/dim]"
        table.add_row("/".join(row.path), type(row.module).__name__ + method, _text(row.inputs), _text(row.outputs),
                      *(str(getattr(row, name)) for name in costs),
                      *(_variables_text(row.variables.get(name), row.counted.get(name)) for name in collections))
    table.add_row(*[""] * (3 + len(costs)), text_module.Text("Total", style="bold", justify="right"),
                  *(f"[bold]{_size_text(row.counted.get(name) for row in rows)}[/bold]" for name in collections))
    table.caption = f"\nTotal Parameters: {_size_text(row.counted for row in rows)}"
    table.caption_style = "bold"
    file = io.StringIO()
    console = console_module.Console(file=file, **{"force_terminal": True, "force_jupyter": False, **console_kwargs})
    console.print(table)
    return "\n" + file.getvalue() + "\n"


def _variables_text(shown: Any, counted: Any) -> str:
    """A module's own variables, and how many are counted for it."""
    parts = []
    if shown and shown == counted:
        parts.append(_text(shown))
    if counted:
        parts.append(f"[bold]{_size_text([counted])}[/bold]")
    return "\n\n".join(parts)


def _size_text(trees: Iterable[Any]) -> str:
    """`110 (440 B)`: the number of elements in some trees, and of bytes."""
    arrays = [leaf for tree in trees for leaf in tree_leaves(unbox(tree)) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    sizes = [(int(np.prod(array.shape, dtype=np.int64)), _item_bytes(array.dtype)) for array in arrays]
    return f"{sum(size for size, _ in sizes):,} [dim]({_bytes_text(sum(size * item for size, item in sizes))})[/dim]"


def _item_bytes(dtype: Any) -> int:
    return getattr(dtype, "itemsize", 0)


def _bytes_text(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _text(value: Any) -> str:
    """A value as YAML writes it: dicts as lines `key: value`, sequences as lines `- item`; types as `float32[3,4]`."""
    if value == () or isinstance(value, (dict, list)) and not value:
        return ""
    return "\n".join(_lines(value))


def _lines(value: Any) -> list[str]:
    if _is_record(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return [line for key, item in value.items() for line in _item_lines(f"{_key_text(key)}:", item, is_key=True)]
    if isinstance(value, (list, tuple)):
        return [line for item in value for line in _item_lines("-", item, is_key=False)]
    return [_leaf_text(value)]


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type) and not is_box(value)


def _item_lines(head: str, item: Any, is_key: bool) -> list[str]:
    lines = _lines(item)
    nested = isinstance(item, (Mapping, list, tuple)) or _is_record(item)
    if not nested or not lines:
        return [f"{head} {lines[0] if lines else ''}".rstrip()]
    if not is_key:
        return [f"- {lines[0]}", *("  " + line for line in lines[1:])]
    indent = "" if isinstance(item, (list, tuple)) else "  "
    return [head, *(indent + line for line in lines)]


def _key_text(key: Any) -> str:
    return str(key.value if isinstance(key, enum.Enum) else key)


def _leaf_text(value: Any) -> str:
    if is_box(value):
        names = getattr(value, "names", None)
        spec = "" if names is None else f" [dim]P[/dim]({', '.join(map(str, names))}{',' if len(names) == 1 else ''})"
        return _leaf_text(value.unbox(False) if names is not None else value.unbox()) + spec
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"[dim]{value.dtype}[/dim][{','.join(map(str, value.shape))}]"
    return str(value)
