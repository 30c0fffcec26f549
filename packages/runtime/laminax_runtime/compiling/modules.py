"""StableHLO modules as jaxlib's objects, without compiling them: for looking at, and for XLA's estimates."""

from __future__ import annotations

from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime.backends import backends, placement, topologies


def hlo_computation(text: str, *, use_tuple_args: bool = False, return_tuple: bool = False) -> Any:
    """A StableHLO module as jaxlib's XLA computation, with `as_hlo_text()` and the like.

    Args:
        text: the module.
        use_tuple_args: whether the computation takes one tuple instead of several parameters.
        return_tuple: whether it returns a tuple also for one result.

    Raises:
        XlaRuntimeError: the text is not a valid module.
    """
    return _jaxlib.hlo_computation(text, use_tuple_args, return_tuple)


def printed_hlo(text: str, with_metadata: bool = False) -> str:
    """A StableHLO module as HLO text.

    Args:
        text: the module.
        with_metadata: whether operations have the names and lines that they come from.
    """
    options = _jaxlib.HloPrintOptions.short_parsable()
    options.print_metadata = with_metadata
    return hlo_computation(text).as_hlo_module().to_string(options)


def hlo_cost_analysis(text: str, device: placement.Device) -> dict[str, float]:
    """XLA's estimate, before optimisation, of the operations and memory traffic of one run on a device.

    For a device that is not attached, the CPU's client counts: before optimisation the operations are the same.
    """
    client = backends.client("cpu") if topologies.is_compile_only(device) else device.client
    return _jaxlib.hlo_cost_analysis(client, hlo_computation(text).as_hlo_module())


def refined_text(text: str) -> str:
    """A StableHLO module with dynamic shapes, whose `main` takes sizes that are numbers, with numbers for all other sizes.

    Raises:
        XlaRuntimeError: a size does not follow.
    """
    return _jaxlib.refined_text(text)


def mlir_module(text: str) -> Any:
    """A StableHLO module as jaxlib's MLIR object, which keeps its context alive."""
    return _jaxlib.mlir_module_from_text(text)[0]


def printed_module(text: str, with_locations: bool = False) -> str:
    """A StableHLO module as MLIR prints it, in the short forms of the dialects, for people to read and search.

    Args:
        text: the module, in any form that MLIR reads.
        with_locations: whether operations show where they come from.
    """
    return mlir_module(text).operation.get_asm(enable_debug_info=with_locations)


def serialize_module(text: str) -> bytes:
    """A StableHLO module as a portable artifact, which later versions of jaxlib can read, and earlier ones of some weeks.

    Raises:
        XlaRuntimeError: the text is not a valid module, or has operations that are not portable.
    """
    return _jaxlib.serialize_portable(text)


def deserialize_module(artifact: bytes) -> str:
    """The text of a module from `serialize_module`.

    Raises:
        ValueError: it is no such artifact, or from a StableHLO that is too new for this jaxlib.
    """
    try:
        return _jaxlib.deserialize_portable(artifact)
    except _jaxlib.XlaRuntimeError as error:
        raise ValueError(
            f"jaxlib {_jaxlib.version} cannot read the StableHLO artifact: {error}. If a newer jaxlib wrote it, use that."
        ) from error
