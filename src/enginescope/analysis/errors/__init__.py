"""Errors of outputs, element by element and channel by channel."""
