"""Conversion of models to FP16, and what it takes."""
