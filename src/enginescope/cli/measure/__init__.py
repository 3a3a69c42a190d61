"""Verbs that measure: bench, build, doctor, trtexec."""
