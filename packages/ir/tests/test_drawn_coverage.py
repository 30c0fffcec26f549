"""Every operation is evaluated on drawn arrays: each family has a file that covers it, and only operations without a meaning
of their own are excused.

That each file covers every operation of its families is a test in that file, `drawn_arrays.every_operation_is_covered`.
"""

import importlib
import pkgutil

import pytest
from drawn_arrays import FAMILIES, NOT_EVALUATED, operations_of

import laminax_ir.ops
from laminax_ir.programs.primitive import Primitive
from laminax_ir.reference.evaluate import reference_rule

MODULES = [importlib.import_module(f"laminax_ir.ops.{module.name}") for module in pkgutil.iter_modules(laminax_ir.ops.__path__)]
PRIMITIVES = {x for module in MODULES for x in vars(module).values() if isinstance(x, Primitive)}
# They hold what the reference cannot run: StableHLO, the name of a native function, and sizes that are not known yet. Those on references
# are gone before a program is evaluated.
WITHOUT_REFERENCE = {"call_exported", "dim_as_value", "ffi_call", "buffer_callback", "addupdate", "freeze", "get", "new_ref", "swap"}


def test_every_family_has_a_file_of_drawn_tests():
    families = {p.family for p in PRIMITIVES if p.name not in WITHOUT_REFERENCE}
    drawn = [family for found in FAMILIES.values() for family in found]
    assert sorted(drawn) == sorted(families), f"name the file that draws operands for {families ^ set(drawn)} in drawn_arrays.FAMILIES"


@pytest.mark.parametrize("primitive", sorted(PRIMITIVES, key=str), ids=str)
def test_every_operation_has_a_reference(primitive):
    assert (reference_rule.find(primitive) is None) == (primitive.name in WITHOUT_REFERENCE)
    if primitive.name not in WITHOUT_REFERENCE | set(NOT_EVALUATED):
        assert primitive.name in operations_of(primitive.family)


def test_excuses_are_for_operations_that_exist():
    assert WITHOUT_REFERENCE | set(NOT_EVALUATED) <= {p.name for p in PRIMITIVES}
