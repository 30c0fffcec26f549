"""Implementation of `laminax.nn`."""
