"""Verbs that measure and build: bench, interleaved comparison, noise, build, doctor, trtexec."""
