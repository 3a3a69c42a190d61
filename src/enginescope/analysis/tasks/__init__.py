"""What outputs are worth for their task: one file each."""
