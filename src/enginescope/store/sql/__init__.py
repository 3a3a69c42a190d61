"""The index of runs: SQLite and PostgreSQL."""
