"""The distributions of `laminax.scipy.stats`, a module for each."""
