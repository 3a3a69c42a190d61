"""Readers of files that Nsight Systems, OpenVINO's benchmark_app and load generators write."""
