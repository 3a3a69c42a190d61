"""Alembic's migrations of the index, in the package so that an installation can run them."""
