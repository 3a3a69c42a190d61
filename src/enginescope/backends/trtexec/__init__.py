"""The backend ``trtexec``: jobs through NVIDIA's own command-line tool."""
