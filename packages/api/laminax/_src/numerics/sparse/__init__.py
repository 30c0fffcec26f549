"""Sparse arrays: formats, conversions, products, and functions of them."""
