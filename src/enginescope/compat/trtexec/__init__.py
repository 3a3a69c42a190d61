"""trtexec's command line: its flags, the job they mean, its log and its files.

Imports nothing of the device wing: a command line becomes a `Job`, a `Run` becomes lines and files.
"""
