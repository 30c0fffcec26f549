"""`checkify`: functions that return which check failed first."""
