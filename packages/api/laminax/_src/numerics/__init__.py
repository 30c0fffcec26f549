"""NumPy's and SciPy's functions, random numbers, neural networks: what programs are written with."""
