"""Load tests of models, engines and endpoints."""
