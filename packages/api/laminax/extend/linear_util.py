"""Functions with a stack of transformations, of flat arguments. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.tracing.wrapped_functions": "Store StoreException WrappedFun wrap_init",
    "names.extend.linear_util": "cache merge_linear_aux transformation transformation2 transformation_with_aux transformation_with_aux2"})
