"""The only place that constructs concrete things."""
