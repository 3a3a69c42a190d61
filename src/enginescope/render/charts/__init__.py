"""Vega-Lite specifications, one file per picture; colours come from the theme's configuration."""
