"""Rungs of a ladder, the steps between them, and a figure placed on it."""
