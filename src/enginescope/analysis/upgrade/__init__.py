"""What two stacks come to for one model: outputs first, then figures."""
