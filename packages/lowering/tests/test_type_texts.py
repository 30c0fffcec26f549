"""The texts of types are kept, and not for ever."""

import gc
import weakref

import numpy as np

from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing import types


def test_types_of_many_shapes_are_not_kept_alive(monkeypatch):
    """Each new shape left its type behind, and five objects with it."""
    monkeypatch.setattr(types, "_MAX_TYPE_TEXTS", 8)
    monkeypatch.setattr(types, "_type_texts", {})
    kept = []
    for n in range(10_001, 10_101):
        aval = ShapedArray((n,), np.dtype(np.float32))
        assert types.type_text(aval) == f"tensor<{n}xf32>" == types.type_text(aval)
        kept.append(weakref.ref(aval))
    del aval
    gc.collect()
    assert sum(ref() is not None for ref in kept) <= 8
