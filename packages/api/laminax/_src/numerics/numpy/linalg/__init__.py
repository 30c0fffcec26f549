"""The functions of `laminax.numpy.linalg`: NumPy's functions on the matrices in the last two axes of arrays."""
