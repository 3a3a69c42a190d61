"""Reading wing, floor 5: text, files, charts and pages from computed objects."""
