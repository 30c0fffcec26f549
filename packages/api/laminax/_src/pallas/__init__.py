"""Kernels over grids of blocks, in the form of Pallas: they run by interpretation, as ordinary programs on any platform."""
