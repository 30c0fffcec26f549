"""Operations of users on values of users' types: they run on the containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops.user_operations import call_hi_primitive_p
from laminax_ir.recording.type_lowering import type_lowering_rules


@type_lowering_rules(call_hi_primitive_p)
def _user_operation(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    return params["operation"].run(*operands)
