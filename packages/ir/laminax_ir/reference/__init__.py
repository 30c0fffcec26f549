"""The NumPy meaning of the operations: one module per family, and the evaluator that runs jaxprs with them."""
