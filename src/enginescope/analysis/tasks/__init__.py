"""What answers are worth for their task: one file each."""
