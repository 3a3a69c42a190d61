"""One rule a file; `enginescope.rules.every` lists them."""
