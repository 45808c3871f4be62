"""adnanh/webhook itself beside the rules that `router import webhook` makes of its hooks."""
