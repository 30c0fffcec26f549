"""Kernels that are ready to use, which are not supported, see `laminax.experimental.pallas`."""
