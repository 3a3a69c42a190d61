"""Files of other tools: recognized, grouped, assembled into runs."""
