"""Verbs that judge runs: compare, gate, history, upgrade."""
