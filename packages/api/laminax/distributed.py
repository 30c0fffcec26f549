"""Programs of several processes; laminax supports one process only. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"placement.distributed": "initialize is_initialized shutdown"})
