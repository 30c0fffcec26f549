"""Trees of Python containers with arrays as leaves."""
