"""trtexec's log, line by line."""
