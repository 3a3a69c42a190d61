"""What contenders lose beside each other, from the runs of all rounds."""
