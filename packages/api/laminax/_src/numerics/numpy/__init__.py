"""The implementation of `laminax.numpy`, a module for each subject."""
