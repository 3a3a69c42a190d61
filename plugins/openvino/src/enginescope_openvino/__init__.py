"""OpenVINO as a backend of enginescope, found by its entry point."""
