"""What libraries import under JAX's private and older names."""
