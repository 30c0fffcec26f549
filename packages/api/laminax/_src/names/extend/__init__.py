"""What libraries on top of laminax need below its functions."""
