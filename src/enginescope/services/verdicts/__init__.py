"""Verbs that judge stored runs and plans: compare, gate, history; and which runs they read."""
