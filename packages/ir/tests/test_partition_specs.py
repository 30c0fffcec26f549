"""Partition specs and abstract meshes: values with equality, normal forms and errors."""

import copy
import pickle

import pytest

from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.partition_specs import UNCONSTRAINED, P, PartitionSpec, UnreducedKind


@pytest.mark.parametrize("spec, entries, text", [
    (P(), (), "P()"),
    (P("x"), ("x",), "P('x',)"),
    (P(None), (None,), "P(None,)"),
    (P("x", None, ("x2", "y")), ("x", None, ("x2", "y")), "P('x', None, ('x2', 'y'))"),
    (P(("x",), [], ["x2", "y"], ()), ("x", None, ("x2", "y"), None), "P('x', None, ('x2', 'y'), None)"),
    (P(UNCONSTRAINED, "x"), (UNCONSTRAINED, "x"), "P(UNCONSTRAINED, 'x')"),
    (P("y", unreduced={"x"}), ("y",), "P('y', unreduced={'x'}, unreduced_kind=sum)"),
    (P(unreduced={"x"}, reduced={"z", "y"}), (), "P(unreduced={'x'}, reduced={'y', 'z'}, unreduced_kind=sum)"),
    (P("y", unreduced={"x"}, unreduced_kind=UnreducedKind.max), ("y",), "P('y', unreduced={'x'}, unreduced_kind=max)"),
    (P("y", reduced={"x"}), ("y",), "P('y', reduced={'x'})"),
])
def test_entries_and_text(spec, entries, text):
    assert tuple(spec) == spec.partitions == entries and len(spec) == len(entries) and repr(spec) == text
    for same in (PartitionSpec(*spec, unreduced=spec.unreduced, reduced=spec.reduced, unreduced_kind=spec.unreduced_kind),
                 pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec), spec.update()):
        assert same == spec and hash(same) == hash(spec) and same is spec  # equal specs are one object


def test_equality_is_by_entries_not_by_meaning():
    assert P("x") != P("x", None) and P("x") != ("x",) and P("x") != P("x", unreduced={"y"}) and P(("x",)) == P("x")
    maximum = P(unreduced={"x"}, unreduced_kind=UnreducedKind.max)
    assert maximum != P(unreduced={"x"}) and maximum.update(partitions=("y",)).unreduced_kind is UnreducedKind.max
    assert maximum.update(unreduced=set()).unreduced_kind is None and P((), "x") is P(None, "x")


def test_specs_are_sequences():
    spec = P("x", ("y", "z"), None)
    assert spec[0] == "x" and spec[1:] == (("y", "z"), None) and spec.index(("y", "z")) == 1 and spec.count(None) == 1
    assert list(spec.names()) == ["x", "y", "z"] and list(P(UNCONSTRAINED, None).names()) == []
    assert P("x") + P(None, "y") == P("x", None, "y") == P("x") + (None, "y") and ("x",) + P("y") == P("x", "y")
    assert spec.update(partitions=("x",)) == P("x") and P("x").update(unreduced={"y"}) == P("x", unreduced={"y"})


def test_specs_refuse():
    with pytest.raises(TypeError, match="Subclassing `jax.P` is prohibited"):
        type("Spec", (P,), {})
    with pytest.raises(AttributeError, match="immutable"):
        P("x").partitions = ()
    with pytest.raises(TypeError, match="unreduced must be a set of names of mesh axes, got 'x' of type str"):
        P(unreduced="x")
    with pytest.raises(ValueError, match="partitions cannot overlap with unreduced: .'x'.*cannot both split an axis and be in unreduced"):
        P(("x", "y"), unreduced={"x"})
    for add in (lambda: P("x", unreduced={"y"}) + ("z",), lambda: ("z",) + P("x", reduced={"y"})):
        with pytest.raises(TypeError, match="reduced in `__r?add__` of PartitionSpec"):
            add()
    with pytest.raises(TypeError, match="their unreduced_kind differs"):
        P(unreduced={"x"}, unreduced_kind=UnreducedKind.max) + P(unreduced={"y"})
    with pytest.raises(TypeError, match="Expected unreduced_kind to be of type `UnreducedKind`"):
        P(unreduced={"x"}, unreduced_kind="max")
    with pytest.raises(NotImplementedError, match="only sums can be left open"):
        P(unreduced={"x"}, unreduced_kind=UnreducedKind.max).to_ct_spec()
    with pytest.raises(ValueError, match="both in unreduced and in reduced"):
        P(unreduced={"x"}, reduced={"x"})


def test_abstract_meshes():
    mesh = AbstractMesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Manual))
    assert dict(mesh.shape) == {"x": 4, "y": 2} and mesh.size == 8 and not mesh.empty
    assert mesh.auto_axes == ("x",) and mesh.manual_axes == ("y",) and mesh.explicit_axes == ()
    assert repr(mesh) == "AbstractMesh('x': 4, 'y': 2, axis_types=(Auto, Manual))"
    assert pickle.loads(pickle.dumps(mesh)) == mesh and hash(mesh.update()) == hash(mesh)
    assert mesh != AbstractMesh((4, 2), ("x", "y")) and mesh.update(axis_types=AxisType.Explicit) == AbstractMesh((4, 2), ("x", "y"))
    assert AbstractMesh((2,), "x").axis_names == ("x",) and AbstractMesh((), ()).empty and AbstractMesh((), ()).size == 0


@pytest.mark.parametrize("arguments, error, message", [
    (((4,), ("x", "y")), ValueError, r"1 axis sizes, \(4,\), but 2 names"),
    (((4, 2), ("x", "x")), ValueError, "not distinct"),
    (((4,), ("x",), ("auto",)), TypeError, "axis_types must be AxisType values, got 'auto' of type str"),
    (((4,), ("x",), (AxisType.Auto,) * 2), ValueError, "Got 1 names and 2 axis_types"),
])
def test_abstract_meshes_refuse(arguments, error, message):
    with pytest.raises(error, match=message):
        AbstractMesh(*arguments)
