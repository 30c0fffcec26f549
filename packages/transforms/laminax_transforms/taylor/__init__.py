"""Taylor mode: derivatives of higher order along a curve."""
