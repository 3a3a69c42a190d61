"""Exit codes that several verbs share."""

#: A run or a build failed, or a run is not stored.
EXIT_RUN_FAILED = 3
