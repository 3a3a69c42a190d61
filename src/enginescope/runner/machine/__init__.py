"""The machine while jobs run: clocks, cooling, hints."""
