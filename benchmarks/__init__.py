"""What the router does in a second, measured against bare servers in the same run."""
