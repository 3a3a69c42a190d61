"""Plans compared layer by layer."""
