"""The operator's pages: pages rendered here, small scripts of our own, nothing from elsewhere."""
