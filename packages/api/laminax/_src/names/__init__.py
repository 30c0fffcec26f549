"""The functions and classes that libraries import under JAX's private and older names."""
