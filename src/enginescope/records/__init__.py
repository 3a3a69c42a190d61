"""Floor 1: the frozen objects that cross folder borders. No files, no clocks, no data frames."""
