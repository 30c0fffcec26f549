"""Discharge rules: how operations that run programs with references become operations on the arrays in them, a module for each family."""
