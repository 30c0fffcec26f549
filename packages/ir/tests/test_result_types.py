"""The types of results where sums over explicit mesh axes are left open; no devices are needed to say them."""

import numpy as np
import pytest

from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.elementwise import add, exp, optimization_barrier_p
from laminax_ir.ops.shape import iota
from laminax_ir.programs.result_types import sum_rules
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.explicit_axes import abstract_mesh, is_resolving, sums_left_open
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec as P
from laminax_ir.types.type_shardings import TypeSharding

MESH = AbstractMesh((2,), ("x",), (AxisType.Explicit,))
F32 = np.dtype(np.float32)


def typed(shape, *entries, **sums):
    return ShapedArray(shape, F32, sharding=TypeSharding(MESH, P(*entries, **sums)))


def results(fun, *avals):
    with abstract_mesh(MESH):
        return stage(fun, avals).out_avals


def test_a_product_leaves_open_the_sum_that_is_asked_for():
    matmul = (((1,), (0,)), ((), ()))
    with is_resolving(True), sums_left_open(frozenset("x")):
        (out,) = results(lambda a, b: [dot_general(a, b, matmul)], typed((4, 8), None, "x"), typed((8, 4), "x", None))
    assert out.str_short() == "f32[4,4]{U:x}"


def test_what_has_no_operands_has_no_sums_to_leave_open():
    with is_resolving(True), sums_left_open(frozenset("x")):
        (out,) = results(lambda: [iota(F32, 4)])
    assert out.str_short() == "f32[4]"


def test_linear_operations_go_on_with_terms_and_others_do_not():
    terms = typed((4,), None, unreduced={"x"})
    assert [aval.str_short() for aval in results(lambda a: [add(a, a), *optimization_barrier_p.bind(a, a)], terms)] == ["f32[4]{U:x}"] * 3
    with pytest.raises(NotImplementedError, match="unreduced rule for exp is not implemented"):
        results(lambda a: [exp(a)], terms)


def test_rules_are_found_with_the_family():
    assert sum_rules.find(optimization_barrier_p) is not None
