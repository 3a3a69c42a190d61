"""The verb suite."""
