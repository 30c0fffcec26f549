"""Attributes for the compiler that users give to operations. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "parallel.xla_metadata": "fuse_limit must_fuse_call set_xla_metadata xla_metadata_call xla_metadata_call2"})
