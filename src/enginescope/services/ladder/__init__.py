"""Service of ladder: where a latency is lost between the layers and a client."""
