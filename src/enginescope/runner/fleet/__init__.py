"""Cells of a suite on other machines or in other Pythons: Ray, containers, environments."""
