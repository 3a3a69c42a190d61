"""Which layers a lower precision harms: layers, order, front."""
