"""Propagation: how values are split over devices whose shardings nobody gave, as the compiler of the program would choose.

The compiler's first pass over a program on several devices propagates shardings from what is annotated to what is not. Run alone, on a
program whose results are the values asked about, it says how these would be split, without anything being compiled.
Source: the Shardy documentation, "Propagation".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import shardings
from laminax_runtime.arrays.hlo_shardings import REPLICATED
from laminax_runtime.arrays.named_shardings import as_given
from laminax_runtime.backends import meshes, placement
from laminax_runtime.compiling.compile import KnownSharding, known_shardings_on, with_automatic_axes

Given = Sequence[shardings.Sharding | None]


def propagated_shardings(
    text: str,
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    in_shardings: Given,
    out_shardings: Given,
    *,
    devices: Sequence[placement.Device],
    known_shardings: Sequence[KnownSharding] = (),
) -> tuple[tuple[shardings.Sharding, ...], tuple[shardings.Sharding, ...]] | None:
    """The shardings of a module's arguments and results: those given, and for the others what the compiler would choose.

    Args:
        text: the module, whose `main` takes and gives all of them.
        in_avals, out_avals: their types.
        in_shardings, out_shardings: one each as in the text, or None.
        devices: where the program runs, in the compiler's order.
        known_shardings: the choices are expressed over the meshes of these, as for `compile_module`.

    Returns:
        The shardings of the arguments and of the results. None if a choice cannot be expressed by axes of a mesh.
    """
    known = known_shardings_on(in_shardings, in_avals, known_shardings, devices)
    if len(devices) == 1:
        is_named = any(isinstance(s, shardings.NamedSharding) for s, _ in known)
        only = None if is_named else shardings.on_device(devices[0])
        chosen: tuple[Sequence[_jaxlib.SpecOnMesh | None], ...] = [None] * len(in_avals), [None] * len(out_avals)
    elif (found := _jaxlib.propagated_shardings(text)) is None:
        return None
    else:
        only, chosen = None, found
    expressed: dict[tuple[_jaxlib.SpecOnMesh | None, int], shardings.Sharding] = {}

    def express(given: shardings.Sharding | None, spec: _jaxlib.SpecOnMesh | None, aval: ShapedArray) -> shardings.Sharding:
        if given is not None:
            return given
        if only is not None:
            return only
        sharding = expressed.get((spec, aval.ndim))
        if sharding is None:
            hlo = REPLICATED if spec is None else _on_devices(spec, devices)._to_xla_hlo_sharding(aval.ndim)
            sharding = expressed[spec, aval.ndim] = as_given(hlo, aval.ndim, devices, known)
        return sharding.with_memory_kind(HOST_KIND) if aval.memory_space is MemorySpace.Host else sharding

    arguments, results = (tuple([express(s, spec, aval) for s, spec, aval in zip(given, specs, avals, strict=True)])
                          for given, specs, avals in zip((in_shardings, out_shardings), chosen, (in_avals, out_avals), strict=True))
    if any(aval._split is not None for aval in in_avals):
        results = tuple([s if given is not None else with_automatic_axes(s, aval)
                         for s, given, aval in zip(results, out_shardings, out_avals, strict=True)])
    return arguments, results


def _on_devices(spec: _jaxlib.SpecOnMesh, devices: Sequence[placement.Device]) -> shardings.NamedSharding:
    """The sharding over a mesh of these devices, in their order."""
    axes, split, terms = spec
    names, sizes = [name for name, _ in axes], [size for _, size in axes]
    if math.prod(sizes) != len(devices):
        raise ValueError(f"propagated_shardings: the module splits values over {math.prod(sizes)} devices, and runs on {len(devices)}")
    mesh = meshes.Mesh(np.array(devices, dtype=object).reshape(sizes), names)
    return shardings.NamedSharding(mesh, shardings.PartitionSpec(*split, unreduced=frozenset(terms)))
