"""One rule a file, in folders by cause; `enginescope.rules.catalogue` lists them."""
