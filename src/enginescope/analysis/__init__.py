"""Reading wing, floor 3: figures and joins over stored objects; no I/O, no printing."""
