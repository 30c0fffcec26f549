"""How results are split over explicit mesh axes, given how the operands are: a module per family of operations (see `explicit_axes`)."""
