"""The vocabulary of rules and interpreters: rule tables, symbolic zeros, flat functions, and facts remembered with a program."""
