"""Verdicts, gate reports, histories and noise floors."""
