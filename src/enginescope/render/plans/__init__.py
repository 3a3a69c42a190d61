"""A plan on the terminal, as data and as a workbook."""
