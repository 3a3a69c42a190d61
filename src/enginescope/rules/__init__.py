"""Reading wing, floor 4: lint rules on a plan, which return findings; no I/O."""
