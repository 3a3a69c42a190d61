"""One rule a file; `enginescope.rules.catalogue` lists them."""
