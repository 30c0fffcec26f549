"""Why a function is traced or compiled: what the option `explain_cache_misses` logs.

The key of the call is compared with the keys in the cache, and its differences from the closest key are listed: arguments by their
names, with the type of each now and before. The words are JAX's.
"""

from __future__ import annotations

import inspect
import logging
import os
from typing import Any, Callable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary, ref

from laminax_ir.pytrees.pytree import keystr, structure_errors
from laminax_ir.tracing import source
from laminax_ir.types.avals import ShapedArray

from laminax._src.base.leaf_names import parameter_name

_SEARCHED = 64  # how many of the latest keys of a function are compared
_SHOWN = 8  # differences that are listed

# The kinds of differences.
_STATIC_ARGS = "different value of static args"
_STATIC_KWARGS = "different value of static kwargs"
_TREE = "different input pytree"
_TYPES = "different input types"
_CONTEXT = "Tracing context doesn't match, e.g. due to config or context manager"

_logger = logging.getLogger("laminax")
# For each code object the last function that was traced, by the kind of its wrapper.
_traced: WeakKeyDictionary[Any, dict[Any, ref]] = WeakKeyDictionary()


def explain_retrace(title: str, fun: Callable, namer: Callable[[int], str], key: Any, entries: Mapping[Any, Any]) -> None:
    """Logs why no cached trace of a function serves a call; does nothing for laminax's own functions.

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
    defined = _definition(fun)
    if not entries:
        lines = ["never seen function" + (f", defined at {defined}" if defined else "")]
        if is_remade:
            lines += ["but seen another function defined on the same line; it is made again and again, and entries belong to the "
                      "function object.", "Make the function once, outside of the loop or function that calls it"
                      + ("; a functools.partial or a transformation of it too." if _is_wrapped(fun) else ".")]
        _log("TRACING", title, lines)
        return
    if key in entries:
        _log("TRACING", title, ["values that the function closes over belonged to a trace that has ended"])
        return
    differences = closest_differences(fun, namer, list(entries), key)
    lines = [f"function defined at {defined}"] if defined else []
    lines.append(f"all {len(entries)} previously seen cache keys differ. For the closest previous key:")
    for kind in dict.fromkeys(kind for kind, _ in differences[:_SHOWN]):
        lines += [f"{kind}:", *[f"* {line}" for other, line in differences[:_SHOWN] if other is kind]]
    hidden = len(differences) - _SHOWN
    _log("TRACING", title, [*lines, *([f"and {hidden} more differences"] if hidden > 0 else [])])


def closest_differences(fun: Callable, namer: Callable[[int], str], keys: Sequence[Any], key: Any) -> list[tuple[str, str]]:
    """In what a key differs from the closest of others, at least one, the latest last: the kind of each difference and a line for it."""
    return min((list(_differences(fun, namer, old, key)) for old in reversed(keys[-_SEARCHED:])),
               key=lambda found: (len(found), sum(len(line) for _, line in found)))  # the shortest explanation


def _definition(fun: Callable) -> str:
    """`train.py:41`, where the function's code begins; empty for a function without Python code."""
    code = getattr(inspect.unwrap(getattr(fun, "func", fun)), "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code is not None else ""


def explain_recompilation(title: str, names: Sequence[str], key: Sequence[Any], entries: Mapping[tuple[Any, ...], Any],
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
    _log("COMPILATION", title, ["traced before, compiled again because of:", *[f"* {line}" for line in min(explanations, key=len)]])


def _part_differences(name: str, then: Any, now: Any, namer: Callable[[int], str]) -> Iterator[str]:
    """One line for what differs in one part of two keys; arguments on several devices by name, with their shardings."""
    old, new = getattr(then, "in_shardings", None), getattr(now, "in_shardings", None)
    if old is None and new is None:
        yield f"{name}, now {now} and before {then}"
        return
    befores = old if old is not None else (then,) * len(new or ())
    afters = new if new is not None else (now,) * len(befores)
    changed = [(i, a, b) for i, (a, b) in enumerate(zip(befores, afters)) if a != b]
    for i, a, b in changed:
        yield f"the sharding of {namer(i)}, now {_sharding_text(b)} and before {_sharding_text(a)}"
    if not changed:
        yield (f"{name}s, or the shardings of the results, now {_result_text(now)} and before {_result_text(then)}")


def _sharding_text(sharding: Any) -> str:
    return "not given" if sharding is None else str(sharding)


def _result_text(where: Any) -> str:
    shardings = getattr(where, "out_shardings", None)
    if shardings is None:
        return str(where)
    return f"{len(where.devices)} devices from {where.devices[0]} on, results {', '.join(map(_sharding_text, shardings))}"


def _log(phase: str, title: str, lines: Sequence[str]) -> None:
    where = source.summarize(source.current())
    _logger.warning("\n  ".join([f"{phase} CACHE MISS{f' at {where}' if where else ''}: {title}", *lines]))


def _remember(fun: Callable) -> bool:
    """Notes the function; returns whether another function with the same code was noted before it."""
    inner = inspect.unwrap(getattr(fun, "func", fun))
    code = getattr(inner, "__code__", None)
    if code is None:
        return False
    wrappers = _traced.setdefault(code, {})
    kind = getattr(fun, "__code__", type(fun))
    before = wrappers.get(kind)
    try:
        wrappers[kind] = ref(fun)
    except TypeError:  # the function cannot be held weakly, so later ones cannot be told from it
        return False
    return before is not None and before() is not fun


def _is_wrapped(fun: Callable) -> bool:
    return hasattr(fun, "func") or hasattr(fun, "__wrapped__")


def _differences(fun: Callable, namer: Callable[[int], str], old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """The kind of difference and a line, for each part in which two keys of a function differ."""

    old_args, new_args = ({parameter_name(fun, i): s for i, s in key.static_args} for key in (old, new))
    for kind, then, now in ((_STATIC_ARGS, old_args, new_args), (_STATIC_KWARGS, dict(old.static_kwargs), dict(new.static_kwargs))):
        for line in _static_differences(then, now):
            yield kind, line
    if old.in_tree != new.in_tree:
        for line in _structure_differences(fun, old.in_tree, new.in_tree):
            yield _TREE, line
    else:
        for i, (then, now) in enumerate(zip(old.avals, new.avals)):
            if then is not now:
                yield _TYPES, f"at {namer(i)}, {_aval_difference(then, now)}"
    if old.config is not new.config:
        for name, (then, now) in old.config.difference(new.config).items():
            yield _CONTEXT, f"the option {name}, now {now} and before {then}"
    if old.axes != new.axes:
        yield _CONTEXT, f"the named axes in scope, now {_axes(new.axes)} and before {_axes(old.axes)}"
    if old.num_args != new.num_args and old.in_tree == new.in_tree and len(old.static_args) == len(new.static_args):
        yield _TREE, f"the number of positional arguments, now {new.num_args} and before {old.num_args}"


def _static_differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for name in old | new:
        if name not in new:
            yield f"at {name}, now not given and before {old[name].value!r}"
        elif name not in old:
            yield f"at {name}, now {new[name].value!r} and before not given"
        elif old[name] != new[name]:
            then, now = old[name].value, new[name].value
            yield f"at {name}, now {_described(now, then)} and before {_described(then, now)}"


def _described(value: Any, other: Any) -> str:
    """The value, with what tells it from one that prints the same."""
    text = repr(value)
    if type(value) is not type(other):
        return f"{text} ({type(value).__name__})"
    return text if text != repr(other) else f"{text} (an unequal object that prints the same)"


def _structure_differences(fun: Callable, old: Any, new: Any) -> Iterator[str]:
    (count_then, keys_then), (count_now, keys_now) = _arguments(old), _arguments(new)
    if count_then != count_now:
        same = ", but same total number" if count_then + len(keys_then) == count_now + len(keys_now) else ""
        yield (f"different number of args and kwargs{same}, now {count_now} args and kwargs with keys {keys_now} and before "
               f"{count_then} args and kwargs with keys {keys_then}")
    elif keys_then != keys_now:
        yield f"the keys of kwargs, now {keys_now} and before {keys_then}"
    else:
        for mismatch in structure_errors(old, new, exact=True):
            yield f"at {_path_name(fun, mismatch.path)}, now {mismatch.full} and before {mismatch.prefix}"


def _arguments(in_tree: Any) -> tuple[int, list[str]]:
    """The number of positional arguments and the keywords of a call of this structure."""
    args, kwargs = in_tree.children()
    return len(args.children()), sorted(kwargs.node_data()[1])


def _path_name(fun: Callable, path: Sequence[Any]) -> str:
    if len(path) < 2:
        return "the arguments"
    name = str(path[1].key) if path[0].idx == 1 else parameter_name(fun, path[1].idx)
    return f"{name}{keystr(tuple(path[2:]))}"


def _aval_difference(old: ShapedArray, new: ShapedArray) -> str:
    then, now = (aval.str_short() for aval in (old, new))
    if old.weak_type == new.weak_type:
        return f"now {now} and before {then}"
    return (f"now {now}{{weak_type={new.weak_type}}} and before {then}{{weak_type={old.weak_type}}}, where weak_type=True often means a "
            "Python number, and weak_type=False an array. See https://docs.jax.dev/en/latest/type_promotion.html#weak-types")


def _axes(axes: Sequence[tuple[Any, int]]) -> str:
    return ", ".join(f"{name!r} of size {size}" for name, size in axes) or "none"
