"""What values are: dtypes, abstract values, how they are split, laid out and promoted."""
