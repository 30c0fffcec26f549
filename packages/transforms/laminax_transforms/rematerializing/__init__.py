"""`checkpoint`: which values are saved, and which are computed again."""
