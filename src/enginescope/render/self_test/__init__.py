"""How small a difference comparisons on a machine find: phrases, files, page."""
