"""Results of `compare`: plans and measured sides together."""
