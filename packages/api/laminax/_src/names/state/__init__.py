"""References to arrays, under the names that libraries import from JAX."""
