"""trtexec's log and exported JSON."""
