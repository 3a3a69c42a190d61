"""Charts and exports of a run."""
