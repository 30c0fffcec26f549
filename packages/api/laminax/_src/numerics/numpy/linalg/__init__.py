"""What `laminax.numpy.linalg` consists of: NumPy's functions on the matrices in the last two axes of arrays."""
