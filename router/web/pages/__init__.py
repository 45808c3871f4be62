"""The operator's window: pages rendered here, small scripts of our own, nothing from elsewhere."""
