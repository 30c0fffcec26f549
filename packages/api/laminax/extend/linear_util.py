"""Functions with a stack of transformations, of flat arguments. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.linear_util": """
    Store StoreException WrappedFun cache merge_linear_aux transformation transformation2 transformation_with_aux
    transformation_with_aux2 wrap_init"""})
