"""What programs ask for, counted equation by equation: for reports, and for roofline models."""
