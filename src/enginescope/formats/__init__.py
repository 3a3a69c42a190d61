"""Floor 2: other tools' files into our objects."""
