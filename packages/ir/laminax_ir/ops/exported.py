"""Calls of programs that are known as StableHLO only: what was exported, perhaps elsewhere."""

from __future__ import annotations

from typing import Mapping, Sequence

from laminax_ir.avals import ShapedArray
from laminax_ir.primitive import Primitive, shape_rule

call_exported_p = Primitive("call_exported", multiple_results=True, family="exported")


class StableHLOProgram:
    """A program as StableHLO text, a module for each platform that it was written for.

    Args:
      name: the function's name.
      texts: modules, by platform; their function `main` takes and returns what the avals say.
      in_avals, out_avals: of the arguments and results.
      is_for_any_platform: whether other platforms may run it too, as the first of the modules.

    Compared by identity.
    """

    __slots__ = ("name", "texts", "in_avals", "out_avals", "is_for_any_platform", "__weakref__")

    def __init__(self, name: str, texts: Mapping[str, str], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray],
                 is_for_any_platform: bool = False):
        self.name = name
        self.texts = dict(texts)
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.is_for_any_platform = is_for_any_platform

    def text_for(self, platform: str) -> str:
        """The module for a platform.

        Raises:
          ValueError: if it was not exported for that one.
        """
        if platform not in self.texts and not self.is_for_any_platform:
            listed = ", ".join(self.texts)
            raise ValueError(f"Function {self.name!r} was exported for platforms ({listed}) but it is used on {platform!r}. "
                             f"Export it for that platform too: export({self.name}, platforms=[...]).")
        return self.texts.get(platform) or next(iter(self.texts.values()))

    def __repr__(self):
        return f"{self.name} for {', '.join(self.texts)}"


@shape_rule(call_exported_p)
def _call_exported_shape(*avals: ShapedArray, program: StableHLOProgram) -> list[ShapedArray]:
    return list(program.out_avals)


def call_exported(program: StableHLOProgram, *operands) -> list:
    """Calls an exported program on operands of its avals' shapes and dtypes."""
    return call_exported_p.bind(*operands, program=program)
