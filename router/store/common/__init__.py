"""What the stores share whatever their database: runs as values, and the causes of deaths."""
