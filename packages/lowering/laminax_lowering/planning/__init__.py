"""Plans: which parts of a program become functions, and which become programs of their own."""
