"""What becomes a function, and what a program of its own."""
