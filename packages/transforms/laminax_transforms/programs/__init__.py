"""Transformations of jaxprs, and what depends on what in them."""
