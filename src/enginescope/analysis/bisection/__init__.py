"""Where an error starts inside a model, and what to keep in FP32."""
