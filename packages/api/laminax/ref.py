"""References to arrays, which can be read and written. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.ops.state": "addupdate empty_ref free_ref get set swap",
    "laminax_ir.refs.refs": "Ref freeze new_ref",
    "laminax_ir.types.ref_types": "AbstractRef",
})
