"""Groups of operations that the compiler schedules together. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"parallel.xla_metadata": "scheduling_group xla_metadata_call"})
