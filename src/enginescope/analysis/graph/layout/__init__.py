"""A layered layout of directed graphs, in time close to linear."""
