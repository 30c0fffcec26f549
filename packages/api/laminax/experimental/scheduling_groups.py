"""Groups of operations to schedule together, which are not supported and say so. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.refused": "scheduling_group xla_metadata_call"})
