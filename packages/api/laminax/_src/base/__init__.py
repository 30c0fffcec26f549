"""What the other rooms have in common: names of arguments, leaves and programs; the phases of compiling, and their display."""
