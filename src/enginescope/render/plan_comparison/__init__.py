"""Tables and charts of compared plans."""
