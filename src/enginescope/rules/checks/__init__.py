"""One rule a file; `enginescope.rules.registry` lists them."""
