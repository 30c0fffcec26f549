"""Every public numeric function with how its arguments are drawn and what its numbers are compared with. See tools/check_functions.py."""
