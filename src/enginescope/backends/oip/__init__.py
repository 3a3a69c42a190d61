"""A model behind a server that speaks the Open Inference Protocol (KServe v2) over HTTP."""
