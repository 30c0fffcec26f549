"""Derivatives checked against differences. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"debugging.testing": "check_grads check_jvp check_vjp"})
