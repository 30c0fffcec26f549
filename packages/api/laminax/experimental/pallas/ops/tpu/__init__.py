"""Those for TPUs."""
