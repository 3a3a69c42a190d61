"""What a GPU reports of itself while it works."""
