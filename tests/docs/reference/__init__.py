"""The reference part of the documentation, made from the code; `make reference` writes it."""
