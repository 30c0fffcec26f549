"""Programs for later and for elsewhere."""
