"""Taylor mode of `laminax_transforms`, as the api offers it."""

from laminax_transforms.taylor import jet

from laminax._src import setup  # noqa: F401

__all__ = ["jet"]
