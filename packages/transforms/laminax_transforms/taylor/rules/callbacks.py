"""Callbacks for debugging see the values; the others have no Taylor series."""


from __future__ import annotations

from typing import Any

from laminax_ir.ops.callbacks import debug_callback_p
from laminax_transforms.taylor.series import taylor_rule


@taylor_rule(debug_callback_p)
def _debug_callback(*operands: Any, **params: Any) -> list[Any]:
    debug_callback_p.bind(*[x[0] for x in operands], **params)
    return []
