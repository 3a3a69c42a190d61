"""A small web page over a store: read-only, and for runs that are pushed to it.

At the height of the command line: it reads the store and renders what the reading wing makes.
"""
