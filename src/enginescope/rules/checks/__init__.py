"""Lint rules, one per file, in folders by cause; `enginescope.rules.catalogue` lists them."""
