"""What rules and interpreters are written in: the rule tables, symbolic zeros, flat functions, answers kept with programs."""
