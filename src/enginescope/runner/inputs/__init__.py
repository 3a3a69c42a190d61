"""Inputs of jobs: random, files, pictures."""
