"""Tables and groups of a plan's report card."""
