"""The implementation of `laminax.linen`, a module for each subject."""
