"""References to arrays, which can be read and written. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.ops.state": "AbstractRef Ref addupdate empty_ref free_ref freeze get new_ref set swap",
})
