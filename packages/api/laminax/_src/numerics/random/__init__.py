"""The random module's parts: keys, samplers of distributions, selections from arrays."""
