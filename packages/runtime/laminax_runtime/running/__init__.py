"""Running what was compiled: dispatch, sequences of programs, profiles."""
