"""Validations as a whole, measured or stored."""
