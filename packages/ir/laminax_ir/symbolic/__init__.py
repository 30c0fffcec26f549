"""Sizes of axes as expressions in variables."""
