"""Verbs that read plans: explore, lint, process, archive, report, import."""
