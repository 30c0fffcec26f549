"""PJRT plugins: where the shared libraries for GPUs and TPUs are, and the options that their clients need.

The plugin packages' own Python entry points need jax, so nothing of them is imported: their folders are found with
`importlib.util.find_spec`, and jaxlib loads the library by its path.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from laminax_ir.options.records import Record


class Plugin(Record):
    """A PJRT plugin found on this machine.

    `name` is XLA's name for it, `platform` the users' name.
    """

    name: str
    platform: str
    library: Path
    options: Mapping[str, Any] = MappingProxyType({})


def find_plugins() -> Iterator[Plugin]:
    """The installed plugins, the preferred ones first: named in the environment, CUDA 13, CUDA 12, ROCm, TPU."""
    yield from _named_in_environment()
    for package in sorted(_subfolders("jax_plugins"), key=lambda path: path.name, reverse=True):
        for kind in ("cuda", "rocm"):
            library = package / f"xla_{kind}_plugin.so"
            if package.name.startswith(f"xla_{kind}") and library.is_file():
                yield Plugin(kind, kind, library, {"platform_name": kind, **_gpu_options()})
    if (tpu := _tpu_library()) is not None:
        yield Plugin("tpu", "tpu", tpu)


def _named_in_environment() -> Iterator[Plugin]:
    """PJRT_NAMES_AND_LIBRARY_PATHS='name1:path1,name2:path2', the convention of OpenXLA."""
    for item in filter(None, os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(",")):
        name, colon, path = item.partition(":")
        if not colon:
            raise ValueError(f"PJRT_NAMES_AND_LIBRARY_PATHS: {item!r} is not of the form name:path")
        yield Plugin(name, name, Path(path))


def _subfolders(package: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.path.isdir(folder):
            yield from (path for path in Path(folder).iterdir() if path.is_dir())


def _gpu_options() -> dict[str, Any]:
    """The client options that JAX's users set by environment variables; the same names mean the same here."""
    environment = os.environ
    allocator = environment.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default").lower()
    allocators = ("default", "platform", "bfc", "cuda_async", "vmm")
    if allocator not in allocators:
        raise ValueError(f"XLA_PYTHON_CLIENT_ALLOCATOR={allocator!r}: expected one of {', '.join(allocators)}")
    result: dict[str, Any] = {"allocator": allocator}
    fraction = environment.get("XLA_CLIENT_MEM_FRACTION") or environment.get("XLA_PYTHON_CLIENT_MEM_FRACTION")
    if fraction:
        result["memory_fraction"] = float(fraction)
    if preallocate := environment.get("XLA_PYTHON_CLIENT_PREALLOCATE"):
        result["preallocate"] = preallocate.lower() not in ("false", "0")
    return result


def _tpu_library() -> Path | None:
    if path := os.environ.get("TPU_LIBRARY_PATH"):
        return Path(path)
    spec = importlib.util.find_spec("libtpu")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (library := Path(folder) / "libtpu.so").is_file():
            return library
    return None
