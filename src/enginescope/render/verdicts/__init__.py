"""Verdicts, gates, histories and noise as text, Markdown, JUnit, SARIF and pages."""
