"""Compares every public numeric function with NumPy, SciPy or the NumPy reference of its operations, on drawn arguments.

    ./bazelw run //tools:check_functions -- --draws=20 --seed=7
    python tools/check_functions.py --only=numpy.sort,lax --draws=50

Arguments are drawn over all dtypes, shapes (empty and of one element too), options, axes from both ends, special values; with 64-bit types
and without; each call is made eagerly, compiled and mapped. Prints every difference with its call, and a table of how many calls were
made; the exit status is 1 if there is a difference.
"""

from __future__ import annotations

import argparse
import collections
import functools
import pathlib
import secrets
import sys
import zlib
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from functions.comparing import check  # noqa: E402
from functions.drawing import Draw  # noqa: E402
from functions.entries import TABLE, Entry  # noqa: E402
from functions.tables import MODULES  # noqa: E402, F401

import laminax  # noqa: E402

MODES = ("eager", "jit", "vmap")
CALLS_BETWEEN_CLEARINGS = 400


def examined(name: tuple[str, str], entry: Entry, seed: int) -> str | None:
    """Makes the call of a seed; what is wrong with it, or None."""
    number = zlib.crc32(f"{'.'.join(name)} {seed}".encode())
    mode = MODES[number % 3] if entry.traceable else "eager"
    draw = Draw(number, wide=number % 2 == 0, special=number % 5 < 3)
    function = functools.reduce(getattr, name[0].split("."), laminax)
    call: Any = "(its arguments were not drawn)"
    try:
        call = entry.draw(draw)
        with laminax.enable_x64(draw.wide):
            check(getattr(function, name[1]), entry, call, mode)
    except Exception as error:
        return f"{'.'.join(name)}{call}\n    {mode}, seed {seed}: {type(error).__name__}: {error}"
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=6, help="calls of each function")
    parser.add_argument("--seed", type=int, default=None, help="number of the first draw; by default a new one")
    parser.add_argument("--only", default="", help="functions or modules, separated by commas")
    parser.add_argument("--most", type=int, default=2, help="differences that are printed of a function")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    wanted = options.only.split(",") if options.only else []
    calls: collections.Counter[str] = collections.Counter()
    different: collections.Counter[str] = collections.Counter()
    for name, entry in TABLE.items():
        if entry.reason or wanted and not {name[0], ".".join(name)} & set(wanted):
            continue
        for i in range(options.draws):
            calls[name[0]] += 1
            found = examined(name, entry, seed + i)
            if found is not None:
                different[".".join(name)] += 1
                if different[".".join(name)] <= options.most:
                    print(found, flush=True)
            if calls.total() % CALLS_BETWEEN_CLEARINGS == 0:
                laminax.clear_caches()
    for module, count in calls.items():
        wrong = {name: n for name, n in different.items() if name.rpartition(".")[0] == module}
        print(f"{module}: {count} calls, {sum(wrong.values())} differences in {len(wrong)} functions")
    print(f"seed {seed}: {calls.total()} calls of {len({*TABLE})} functions, {different.total()} differences")
    return int(different.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
