"""Rules made of another program's configuration."""
