"""`checkpoint`: what is saved, and what is computed again."""
