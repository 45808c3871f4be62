def enter(event, context):
    """Its name is taken."""
