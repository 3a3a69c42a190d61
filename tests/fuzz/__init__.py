"""Mutations of every format that enginescope reads: any of them gives a result or a named error."""
