"""The implementation of `laminax.scipy`, a module for each subject."""
