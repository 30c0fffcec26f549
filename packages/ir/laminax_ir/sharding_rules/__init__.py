"""How the results of operations are split over explicit mesh axes, by those of the operands: a module per family of operations (see `explicit_axes`)."""
