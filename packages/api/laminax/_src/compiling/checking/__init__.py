"""The debugging options that check results: NaN and infinities are found, and the operation that made them is searched for."""
