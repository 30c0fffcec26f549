"""The check that all processes which run a program have traced the same one; where they have not, its collectives would never end.

Each process leaves a digest of the program's text in the service where they meet, and reads those of the others. Programs are known by
their number, counted in each process, among those on devices of the same processes. Source locations are left out, since they do not
change what is computed.
"""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from laminax_runtime import _jaxlib
from laminax_runtime.backends import processes
from laminax_runtime.base import process_options
from laminax_runtime.compiling.compilation_cache import without_locations

_numbers: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)  # by the processes


def check_agreement(text: str, name: str, devices: Sequence[_jaxlib.Device]) -> None:
    """Compares the program with those of the other processes whose devices it runs on, if the option `check_programs_agree` is set.

    Raises:
        RuntimeError: they differ, in all of these processes; or one of them does not come to a program in time.
    """
    together = sorted({device.process_index for device in devices})
    if len(together) == 1 or not process_options.check_programs_agree.value or processes.state.client is None:
        return
    text, own = without_locations(text), processes.state.process_id
    group = ",".join(map(str, together))
    folder = f"laminax/programs/{group}/{next(_numbers[group])}"
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    processes.state.client.key_value_set(f"{folder}/digests/{own}", digest)
    found = {index: _read(f"{folder}/digests/{index}", index, name) for index in together}
    if len(set(found.values())) == 1:
        return
    processes.state.client.key_value_set_bytes(f"{folder}/texts/{own}", zlib.compress(f"{name}\n{text}".encode()))
    first = together[0]
    other = own if found[own] != found[first] else next(index for index in together if found[index] != found[first])
    raise RuntimeError(_difference(_read_program(folder, first, name), _read_program(folder, other, name), first, other))


def _read(key: str, index: int, name: str) -> str:
    try:
        return processes.state.client.blocking_key_value_get(key, _patience())
    except _jaxlib.XlaRuntimeError as error:
        raise RuntimeError(f"The program {name} is about to run on devices of several processes, but process {index} has not come to a "
                           f"program in {_patience() / 1000} s (the option check_programs_timeout_seconds): {error}") from error


def _read_program(folder: str, index: int, name: str) -> tuple[str, str]:
    """The name and the text of another process's program."""
    try:
        packed = processes.state.client.blocking_key_value_get_bytes(f"{folder}/texts/{index}", _patience())
    except _jaxlib.XlaRuntimeError:
        return name, ""
    found, _, text = zlib.decompress(packed).decode().partition("\n")
    return found, text


def _patience() -> int:
    return 1000 * process_options.check_programs_timeout_seconds.value  # in milliseconds


def _difference(first: tuple[str, str], other: tuple[str, str], index: int, other_index: int) -> str:
    """The error's words, with the first line in which two programs differ."""
    lines, others = first[1].splitlines(), other[1].splitlines()
    pairs = itertools.zip_longest(lines, others, fillvalue="(the program has ended)")
    number, (a, b) = next(((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1]), (0, ("", "")))
    return (f"Processes are about to run different programs together: {first[0]} in process {index}, {other[0]} in process "
            f"{other_index}. Their "
            f"first difference is in line {number}:\n  process {index}: {a.strip()}\n  process {other_index}: {b.strip()}\n"
            "All processes must call the same functions in the same order, with arguments of the same types and the same constants; look "
            "for what depends on process_index(), on a seed, or on the data of one process.")
