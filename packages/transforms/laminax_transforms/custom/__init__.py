"""Rules that users give to their functions."""
