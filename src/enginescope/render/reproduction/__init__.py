"""Show an upgrade that ran again from its evidence."""
