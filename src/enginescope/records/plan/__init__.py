"""What a plan, its profile and its build consist of."""
