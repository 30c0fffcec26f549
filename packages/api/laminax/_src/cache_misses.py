"""Why a function is traced or compiled again: what the option `explain_cache_misses` logs.

Of the forms of the function that are there, the one most like the call is taken, and what keeps them apart is listed:
arguments by their names, with what each was before and is now.
"""

from __future__ import annotations

import inspect
import logging
from typing import Any, Callable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary, ref

from laminax_ir import source
from laminax_ir.avals import ShapedArray
from laminax_ir.pytree import keystr, structure_errors, tree_structure, tree_unflatten

_SEARCHED = 64  # of the forms of a function, how many of the latest are compared
_SHOWN = 8  # differences that are listed

_logger = logging.getLogger("laminax")
# The last function that was traced for each code object, by what wraps it.
_traced: WeakKeyDictionary[Any, dict[Any, ref]] = WeakKeyDictionary()


def explain_retrace(title: str, fun: Callable, namer: Callable[[int], str], key: Any, entries: Mapping[Any, Any]) -> None:
    """Logs why none of the traced forms of a function serves a call; says nothing of first calls and of laminax itself.

    Args:
      title: the function's name for the log, "jit(f)".
      fun: the function.
      namer: from the number of a dynamic leaf to its name.
      key: the call's key.
      entries: what there is, by such keys, oldest first.
    """
    if (getattr(fun, "__module__", None) or "").partition(".")[0] == "laminax":
        return
    is_remade = _remember(fun)
    if not entries:
        if is_remade:
            _log(title, "traced again, because it is another function than before, made by the same code", [
                "Entries belong to the function object. Make the function once, outside of the loop or function that calls it"
                + ("; a functools.partial or a transformation of it too." if _is_wrapped(fun) else ".")])
        return
    if key in entries:
        _log(title, "traced again, because values that it closes over belonged to a trace that has ended", [])
        return
    candidates = list(entries)[-_SEARCHED:]
    differences = min((list(_differences(fun, namer, old, key)) for old in reversed(candidates)),
                      key=lambda lines: (len(lines), sum(map(len, lines))))  # the shortest explanation
    hidden = len(differences) - _SHOWN
    rest = [f"and {hidden} more differences"] if hidden > 0 else []
    _log(title, f"traced again; of the {len(entries)} forms there are, the one most like this call differs in",
         [*differences[:_SHOWN], *rest])


def explain_recompilation(title: str, names: Sequence[str], key: Sequence[Any], entries: Mapping[Sequence[Any], Any],
                          namer: Callable[[int], str]) -> None:
    """Logs why a traced program is compiled once more.

    Args:
      title: the function's name for the log.
      names: what the parts of keys are called.
      key: what it is compiled for.
      entries: what there is, by such keys.
      namer: from the number of an argument to its name.
    """
    if not entries:
        return
    explanations = [[line for name, then, now in zip(names, old, key) if then != now
                     for line in _part_differences(name, then, now, namer)] for old in reversed(list(entries))]
    _log(title, "compiled again without being traced, because of", min(explanations, key=len))


def _part_differences(name: str, then: Any, now: Any, namer: Callable[[int], str]) -> Iterator[str]:
    """One line for what differs in one part of two keys; arguments on several devices by name, with their shardings."""
    old, new = getattr(then, "in_shardings", None), getattr(now, "in_shardings", None)
    if old is None and new is None:
        yield f"{name}: {now}, before {then}"
        return
    old, new = (x if x is not None else (where,) * len(old or new) for x, where in ((old, then), (new, now)))
    changed = [(i, a, b) for i, (a, b) in enumerate(zip(old, new)) if a != b]
    for i, a, b in changed:
        yield f"the sharding of {namer(i)}: {_sharding_text(b)}, before {_sharding_text(a)}"
    if not changed:
        yield (f"{name}s, or the shardings of the results: {_result_text(now)}, before {_result_text(then)}")


def _sharding_text(sharding: Any) -> str:
    return "not given" if sharding is None else str(sharding)


def _result_text(where: Any) -> str:
    shardings = getattr(where, "out_shardings", None)
    if shardings is None:
        return str(where)
    return f"{len(where.devices)} devices from {where.devices[0]} on, results {', '.join(map(_sharding_text, shardings))}"


def _log(title: str, what: str, lines: Sequence[str]) -> None:
    where = source.summarize(source.current())
    _logger.warning("\n  ".join([f"{title} is {what}{':' if lines else '.'}", *lines, *([f"called at {where}"] if where else [])]))


def _remember(fun: Callable) -> bool:
    """Notes the function, and tells whether another one of the same code was noted before it."""
    inner = inspect.unwrap(getattr(fun, "func", fun))
    code = getattr(inner, "__code__", None)
    if code is None:
        return False
    wrappers = _traced.setdefault(code, {})
    kind = getattr(fun, "__code__", type(fun))
    before = wrappers.get(kind)
    try:
        wrappers[kind] = ref(fun)
    except TypeError:  # such functions cannot be told apart later
        return False
    return before is not None and before() is not fun


def _is_wrapped(fun: Callable) -> bool:
    return hasattr(fun, "func") or hasattr(fun, "__wrapped__")


def _differences(fun: Callable, namer: Callable[[int], str], old: Any, new: Any) -> Iterator[str]:
    """One line for each part in which two keys of a function differ."""
    from laminax._src.tracing import _parameter_name

    yield from _static_differences({_parameter_name(fun, i): s for i, s in old.static_args} | dict(old.static_kwargs),
                                   {_parameter_name(fun, i): s for i, s in new.static_args} | dict(new.static_kwargs))
    if old.in_tree != new.in_tree:
        yield from _structure_differences(fun, old.in_tree, new.in_tree)
    else:
        for i, (then, now) in enumerate(zip(old.avals, new.avals)):
            if then is not now:
                yield f"{namer(i)}: {_aval_difference(then, now)}"
    if old.config is not new.config:
        for name, (then, now) in old.config.difference(new.config).items():
            yield f"the option {name}: {now!r}, before {then!r}"
    if old.axes != new.axes:
        yield f"the named axes in scope: {_axes(new.axes)}, before {_axes(old.axes)}"
    if old.count != new.count and old.in_tree == new.in_tree and len(old.static_args) == len(new.static_args):
        yield f"the number of positional arguments: {new.count}, before {old.count}"


def _static_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in old | new:
        if name not in new:
            yield f"the static argument {name} is not given, before it was {old[name].value!r}"
        elif name not in old:
            yield f"the static argument {name}={new[name].value!r}, which was not given before"
        elif old[name] != new[name]:
            then, now = old[name].value, new[name].value
            yield f"the static argument {name}: {_described(now, then)}, before {_described(then, now)}"


def _described(value: Any, other: Any) -> str:
    """The value, with what tells it from one that prints the same."""
    text = repr(value)
    if type(value) is not type(other):
        return f"{text} ({type(value).__name__})"
    return text if text != repr(other) else f"{text} (an unequal object that prints the same)"


def _structure_differences(fun: Callable, old: Any, new: Any) -> Iterator[str]:
    then, now = (tree_unflatten(tree, range(tree.num_leaves)) for tree in (old, new))
    if len(then[0]) != len(now[0]):
        yield f"the number of arguments given by position: {len(now[0])}, before {len(then[0])}"
    if sorted(then[1]) != sorted(now[1]):
        yield f"the arguments given by name: {', '.join(now[1]) or 'none'}, before {', '.join(then[1]) or 'none'}"
    if len(then[0]) == len(now[0]) and then[1].keys() == now[1].keys():
        for mismatch in structure_errors(tree_structure(then), now, exact=True):
            yield f"{_path_name(fun, mismatch.path)}: {mismatch.full}, before {mismatch.prefix}"


def _path_name(fun: Callable, path: Sequence[Any]) -> str:
    from laminax._src.tracing import _parameter_name
    if len(path) < 2:
        return "the arguments"
    name = str(path[1].key) if path[0].idx == 1 else _parameter_name(fun, path[1].idx)
    return f"{name}{keystr(tuple(path[2:]))}"


def _aval_difference(old: ShapedArray, new: ShapedArray) -> str:
    kinds = [kind for kind, a, b in (("shape", old.shape, new.shape), ("dtype", old.dtype, new.dtype),
                                     ("weak type", old.weak_type, new.weak_type),
                                     ("named axes", old.named_shape, new.named_shape)) if a != b]
    shows_weak = old.weak_type != new.weak_type
    return f"another {' and '.join(kinds)}: {_aval_text(new, shows_weak)}, before {_aval_text(old, shows_weak)}"


def _aval_text(aval: ShapedArray, shows_weak: bool) -> str:
    if not shows_weak:
        return aval.str_short()
    return f"{aval.str_short()} ({'weakly typed, as Python numbers are' if aval.weak_type else 'not weakly typed'})"


def _axes(axes: Sequence[tuple[Any, int]]) -> str:
    return ", ".join(f"{name!r} of size {size}" for name, size in axes) or "none"
