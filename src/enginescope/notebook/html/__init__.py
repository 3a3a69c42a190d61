"""What notebooks show: HTML fragments without script, style sheet or anything from elsewhere."""
