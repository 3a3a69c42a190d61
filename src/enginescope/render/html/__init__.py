"""The page: frame, theme, assets, pictures."""
