"""Where an error starts: text, data, sections, charts."""
