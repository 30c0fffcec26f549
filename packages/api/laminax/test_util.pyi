# Written by tools/stubs.py.
"""Derivatives checked against differences. A table of contents: names load on first use."""

from laminax.testing import check_grads as check_grads
from laminax.testing import check_jvp as check_jvp
from laminax.testing import check_vjp as check_vjp

__all__: list[str]

