"""Arrays of random keys: their types, and the operation that makes them of words."""
