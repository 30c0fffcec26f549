"""Conversions to and from extended dtypes on drawn arrays: what is stored is what was given, however the elements are moved."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from drawn_arrays import NUMBERS, cases, covers, drawn, every_operation_is_covered, few, same, seeds, sizes
from hypothesis import given

from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.shape import transpose
from laminax_ir.options import config
from laminax_ir.types.extended_dtypes import ExtendedDType, extended


class vector_type(extended):
    pass


class VectorRules:
    allow_conversion = True

    @staticmethod
    def physical_element_aval(dtype):
        return SimpleNamespace(shape=dtype.shape, dtype=dtype.stored)


@dataclass(frozen=True)
class Vector(ExtendedDType):
    """Small arrays as elements."""

    shape: tuple
    stored: str = "int32"
    name = "vector"
    type = vector_type
    _rules = VectorRules


@covers("to_edtype", "from_edtype")
@few
@given(sizes=sizes, seed=seeds)
def test_conversions_give_back_what_was_stored(sizes, seed):
    rng = np.random.default_rng(seed)
    with config.enable_x64(True):
        for dtype, shape in cases(NUMBERS, sizes, range(3)):
            for element in ((), (2,), (3, 1)):
                stored = drawn(rng, dtype, (*shape, *element))
                made = convert_element_type(stored, Vector(element, dtype.name))
                assert made.shape == shape and isinstance(made, ExtendedArray)
                same(convert_element_type(made, dtype), stored)
                order = tuple(range(len(shape)))[::-1]
                moved = transpose(made, order)
                same(convert_element_type(moved, dtype), np.transpose(stored, (*order, *range(len(shape), stored.ndim))))


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
