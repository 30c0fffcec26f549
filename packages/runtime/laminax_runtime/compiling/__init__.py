"""Compiling StableHLO, and keeping what was compiled."""
