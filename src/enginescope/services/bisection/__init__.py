"""Where inside a model an error starts, and what kept in FP32 ends it."""
