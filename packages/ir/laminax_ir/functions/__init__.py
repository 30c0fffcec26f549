"""Functions made of operations: Python's operators, matrix products, special functions."""
