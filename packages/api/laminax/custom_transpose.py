"""Linear functions with a transpose of their own."""

from __future__ import annotations

from laminax_transforms.custom.custom_transposes import custom_transpose

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = ["custom_transpose"]
