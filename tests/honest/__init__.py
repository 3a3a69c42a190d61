"""Real models, inputs that are real for their tasks, and runs of them that are honest or broken."""
