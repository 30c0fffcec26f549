"""The layers of `laminax.linen`, a module for each subject."""
