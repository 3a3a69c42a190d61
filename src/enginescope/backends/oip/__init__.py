"""A model behind an endpoint of the Open Inference Protocol (KServe v2), over HTTP or gRPC."""
