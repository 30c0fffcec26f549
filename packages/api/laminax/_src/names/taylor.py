"""Taylor mode of `laminax_transforms`, as the api offers it."""

from laminax_transforms.taylor.taylor import jet

__all__ = ["jet"]
