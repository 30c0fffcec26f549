"""Batching rules in JAX's form. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.interpreters.batching": """
    BatchTrace BatchTracer axis_primitive_batchers bdim_at_front broadcast defbroadcasting defreducer defvectorized
    fancy_primitive_batchers moveaxis not_mapped primitive_batchers register_vmappable unregister_vmappable"""})
