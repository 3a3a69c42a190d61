"""A GPU that is none: real memory of the host, work in virtual time, faults on demand."""
