"""The page's interactive graph."""
