"""Work, bytes and GPU limits of layers."""
