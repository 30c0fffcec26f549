"""Implementation of `laminax.example_libraries`."""
