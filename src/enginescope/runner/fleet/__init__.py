"""Cells of a suite on other machines: Ray, Slurm, containers, Kubernetes."""
