"""The generators behind random keys, and whether keys are used twice."""
