"""Variables as bytes and back, in the format of Flax's checkpoints."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "linen.serialization": """
        from_bytes from_state_dict is_serializable msgpack_restore msgpack_serialize register_serialization_state to_bytes to_state_dict""",
})
