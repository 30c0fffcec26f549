"""Linear functions with a transpose of their own. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"laminax_transforms.custom.custom_transposes": "custom_transpose"})
