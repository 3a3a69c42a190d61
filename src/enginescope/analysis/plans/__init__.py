"""A plan with its profile as one view: columns, totals, exploration."""
