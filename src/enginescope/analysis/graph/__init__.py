"""A plan's graph: edges, parts, queries."""
