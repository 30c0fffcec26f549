"""Forward and reverse mode."""
