"""The fence: a verb gives the same result on the command line and from Python."""
