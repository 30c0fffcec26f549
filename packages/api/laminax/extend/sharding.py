"""Shardings in the forms that XLA stores. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.sharding": """
    get_hlo_sharding_from_serialized_proto get_op_sharding_from_serialized_proto get_serialized_proto_from_hlo_sharding"""})
