"""The version, in the one place the build and the program read it from."""

__version__ = "0.1.0"
