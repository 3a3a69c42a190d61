"""Vega-Lite specifications, one file per picture; colors come from the theme's configuration."""
