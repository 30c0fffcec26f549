"""Programs compiled for devices that are not there: they can be looked at and written down, and not run."""

from __future__ import annotations

from typing import Any, NoReturn

from laminax_runtime import _jaxlib
from laminax_runtime.backends import backends
from laminax_runtime.backends.placement import Device
from laminax_runtime.base.errors import is_unimplemented


class UnloadedProgram:
    """jaxlib's executable for the devices of a topology, with those attributes of jaxlib's loaded executables that it can answer."""

    fingerprint: bytes | None = None  # which only clients that run programs give

    def __init__(self, compiled: Any, device: Device) -> None:
        self._compiled = compiled
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle a program that was compiled for {self._device}, which is not attached; its bytes are those of "
                        "serialize()")

    def get_hlo_text(self) -> str:
        """The optimised HLO, module after module."""
        options = _jaxlib.HloPrintOptions()
        return "\n\n".join([module.to_string(options) for module in self._compiled.hlo_modules()])

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's estimate; where the platform's compiler gives none, that of the optimised HLO by the rules that all platforms share."""
        try:
            return self._compiled.cost_analysis()
        except _jaxlib.XlaRuntimeError as error:
            if not is_unimplemented(error):
                raise
        (module, *_) = self._compiled.hlo_modules()
        return _jaxlib.hlo_cost_analysis(backends.client("cpu"), module)

    def execute_sharded(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses to run."""
        device = self._device
        raise RuntimeError(f"the program was compiled for devices of the kind {device.device_kind!r} ({device.platform}), such as "
                           f"{device}, that are known from a topology and are not attached to this process. Look at it with "
                           "cost_analysis(), memory_analysis() and as_text(); compile it where the devices are to run it.")
