"""Writing StableHLO: contexts, types, values, attributes."""
