"""Vectorisation: `vmap`, and named axes."""
