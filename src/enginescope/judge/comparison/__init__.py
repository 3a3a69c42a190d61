"""Two or more sides compared: ratios, intervals, stopping."""
