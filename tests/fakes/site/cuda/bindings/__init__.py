"""As cuda-bindings: modules to import from."""

__version__ = "13.4.4"
