"""Reading wing, floor 4: what may be wrong with a plan, as findings; no I/O, no printing."""
