"""Generators of random bits. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.generators": "define_prng_impl", "names.extend.random": """
    random_seed rbg_prng_impl seed_with_impl threefry2x32_p threefry_2x32 threefry_prng_impl unsafe_rbg_prng_impl"""})
