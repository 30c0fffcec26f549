"""References: boxes for arrays that programs read and write."""
