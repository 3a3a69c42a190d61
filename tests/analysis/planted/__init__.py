"""Outputs of many kinds, errors planted in them, and what a user would see of each error."""
