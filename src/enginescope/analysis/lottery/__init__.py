"""What several builds of one model come to: components, outputs, tactics."""
