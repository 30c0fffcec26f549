"""How types say over which mesh axes arrays are split: a mesh without devices, and a spec with an entry for each axis of the array.

Only *explicit* mesh axes are part of types. What is said of an array along other axes (the compiler's, or those that a program per
device runs along) is left out, but for sums: they are open along *manual* axes, too. Where nothing is left to say of an array, its type
has no sharding.
Source: JAX's documentation, "Explicit sharding (a.k.a. sharding in types)".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from laminax_ir.options.config import remove_size_one_mesh_axis_from_type
from laminax_ir.types.abstract_meshes import AbstractMesh, in_use
from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec, refuse_extrema

__all__ = ["TypeSharding", "as_sharding", "axes_text", "axis_text", "in_use", "names_of", "parts_of", "repeated_name",
           "set_sharding_maker", "sharding_of_spec", "type_sharding"]


class TypeSharding(NamedTuple):
    """The sharding in a type: the mesh, and a spec of explicit axes with as many entries as the array has axes.

    Along the axes in the spec's `unreduced` each device has one term of a sum that is the array. Along those in `reduced` each has the
    array, and its cotangent is such a sum: the other way round, too. These axes are explicit, or, inside of a program per device, those
    that it runs along.
    """
    mesh: AbstractMesh
    spec: PartitionSpec

    def update(self, spec: PartitionSpec) -> TypeSharding:
        """The sharding of another spec."""
        return self._replace(spec=spec)

    def with_entries(self, entries: Sequence[Any]) -> TypeSharding:
        """The sharding of other entries, of the same sums."""
        return self._replace(spec=self.spec.update(partitions=entries))

    @property
    def has_sums(self) -> bool:
        """Whether it says of some mesh axes that a sum over them has not been made, or that one shall not be made of the cotangent."""
        return bool(self.spec.unreduced or self.spec.reduced)

    @property
    def is_whole(self) -> bool:
        """Whether each device has the array, and its cotangent."""
        return not self.has_sums and not any(self.spec.partitions)

    @property
    def manual_sums(self) -> tuple[frozenset, frozenset]:
        """The unreduced, and the reduced ones, of the axes that a program per device runs along."""
        spec = self.spec
        if not spec.unreduced and not spec.reduced:
            return spec.unreduced, spec.reduced
        manual = frozenset(self.mesh.manual_axes)
        return spec.unreduced & manual, spec.reduced & manual

    def along_explicit_axes(self) -> TypeSharding | None:
        """What it says of explicit axes; None if the mesh has none."""
        if not self.mesh.explicit_axes:
            return None
        unreduced, reduced = self.manual_sums
        spec = self.spec
        return self.update(spec.update(unreduced=spec.unreduced - unreduced, reduced=spec.reduced - reduced)) if unreduced or reduced \
            else self

    def of_cotangents(self) -> TypeSharding:
        """How the cotangents of values that are split so are split."""
        spec = self.spec
        return self._replace(spec=spec.update(unreduced=spec.reduced, reduced=spec.unreduced)) if spec.unreduced or spec.reduced else self

    def __str__(self) -> str:
        return str(self.spec)


def type_sharding(sharding: Any, shape: Sequence[int], name: str = "ShapedArray") -> TypeSharding | None:
    """The sharding in the type of arrays of a shape; None if `sharding` says nothing of explicit mesh axes, nor of sums over manual ones.

    Args:
      sharding: anything with `mesh` and `spec`.
      shape: of the array.
      name: the caller, for messages.

    Raises:
      NotImplementedError: if the spec leaves a maximum or minimum open.
      ValueError: if the spec has more entries than the array axes, or an axis does not divide into its parts.
    """
    mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
    if mesh is None or spec is None or not (mesh.explicit_axes or mesh.manual_axes and (spec.unreduced or spec.reduced)):
        return None
    refuse_extrema(name, spec)
    if len(spec) > len(shape) and any(spec.partitions[len(shape):]):
        raise ValueError(f"{name}: Length of sharding.spec is over the number of axes: the spec {spec} has {len(spec)} entries, and "
                         f"the array of shape {tuple(shape)} has {len(shape)} axes. "
                         "Shorten the spec.")
    explicit = frozenset(_named_in_types(mesh, mesh.explicit_axes))
    of_sums = explicit.union(_named_in_types(mesh, mesh.manual_axes)) if spec.unreduced or spec.reduced else explicit
    entries = [_of_axes(entry, explicit) for entry in spec.partitions][:len(shape)]
    for axis, (entry, size) in enumerate(zip(entries, shape)):
        if entry is not None and size % (parts := parts_of(entry, mesh)):
            raise ValueError(f"{name}: the spec {spec} implies that array axis {axis} is partitioned {parts} times, "
                             f"which does not evenly divide the dimension size {size}. Got shape {tuple(shape)} and mesh "
                             f"{dict(mesh.shape)}. Split another axis, or pad this one.")
    return TypeSharding(mesh.abstract_mesh,
                        PartitionSpec(*entries, *[None] * (len(shape) - len(entries)), unreduced=spec.unreduced & of_sums,
                                      reduced=spec.reduced & of_sums))


def _named_in_types(mesh: AbstractMesh, names: Sequence[Any]) -> Sequence[Any]:
    """The mesh axes among `names` that types mention: all of them, or those of more than one device, as the option says."""
    return [name for name in names if mesh.shape[name] != 1] if remove_size_one_mesh_axis_from_type.value else names


def _of_axes(entry: Any, names: frozenset) -> Any:
    """The part of a spec's entry that names some mesh axes."""
    if entry is None or entry is UNCONSTRAINED:
        return None
    if type(entry) is tuple:
        kept = tuple(name for name in entry if name in names)
        return kept if len(kept) > 1 else kept[0] if kept else None
    return entry if entry in names else None


def names_of(entry: Any) -> tuple:
    """The mesh axes in one entry of a spec."""
    return () if entry is None else entry if type(entry) is tuple else (entry,)


def parts_of(entry: Any, mesh: AbstractMesh) -> int:
    """Into how many parts an entry of a spec splits an axis."""
    parts = 1
    for name in names_of(entry):
        parts *= mesh.shape[name]
    return parts


def repeated_name(entries: Sequence[Any]) -> Any:
    """A mesh axis that splits two axes of an array, which is not possible; None if there is none."""
    seen: set = set()
    for entry in entries:
        for name in names_of(entry):
            if name in seen:
                return name
            seen.add(name)
    return None


def axis_text(size: Any, entry: Any) -> str:
    """An axis of an array as types print it: `8@x`, `8@(x,y)`."""
    if entry is None:
        return str(size)
    return f"{size}@({','.join(map(str, entry))})" if type(entry) is tuple else f"{size}@{entry}"


def axes_text(varying: Sequence[Any], split: TypeSharding | None) -> str:
    """The axes that a value varies over and those of sums, as types print them after the shape: `{V:i}`, `{U:(x,y), R:z}`; empty if there
    are none.
    """
    found = {"V": list(map(str, varying))}
    if split is not None:
        for letter, names in (("U", split.spec.unreduced), ("R", split.spec.reduced)):
            found[letter] = [str(name) for name in split.mesh.axis_names if name in names]
    texts = [f"{letter}:{names[0]}" if len(names) == 1 else f"{letter}:({','.join(names)})" for letter, names in found.items() if names]
    return f"{{{', '.join(texts)}}}" if texts else ""


def _without_runtime(sharding: TypeSharding | None, ndim: int) -> TypeSharding:
    """What `aval.sharding` returns where no runtime, which has the classes of shardings, is loaded."""
    return sharding or TypeSharding(AbstractMesh((), ()), PartitionSpec(*[None] * ndim))


def _no_mesh(spec: PartitionSpec) -> None:
    """What a spec means where no runtime, which has the devices of meshes, is loaded."""


_make_sharding: Callable[[TypeSharding | None, int], Any] = _without_runtime
_sharding_of_spec: Callable[[PartitionSpec], Any] = _no_mesh


def set_sharding_maker(make: Callable[[TypeSharding | None, int], Any], of_spec: Callable[[PartitionSpec], Any]) -> None:
    """Registers the functions that make shardings.

    Args:
      make: makes what `aval.sharding` returns: `make(sharding, ndim)`, where `sharding` has explicit axes alone.
      of_spec: makes the sharding that a spec means over the mesh that is set; None where none is.
    """
    global _make_sharding, _sharding_of_spec
    _make_sharding, _sharding_of_spec = make, of_spec


def sharding_of_spec(spec: PartitionSpec) -> Any:
    """The sharding that a spec means over the mesh that is set; None where none is."""
    return _sharding_of_spec(spec)


def as_sharding(sharding: TypeSharding | None, ndim: int) -> Any:
    """The sharding that users see for the one in a type of arrays of `ndim` axes: along explicit axes alone."""
    return _make_sharding(None if sharding is None else sharding.along_explicit_axes(), ndim)
