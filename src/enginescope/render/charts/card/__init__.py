"""Charts of the report card: a plan's layers, memory, convolutions, matrix products."""
