"""Random programs over laminax's operations, control flow and transformations, and what must agree about them."""
