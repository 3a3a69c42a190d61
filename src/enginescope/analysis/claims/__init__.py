"""What may be stated of a figure: presenters ask here, and decide nothing themselves."""
