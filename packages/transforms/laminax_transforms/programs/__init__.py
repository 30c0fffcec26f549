"""Transformations of whole jaxprs."""
