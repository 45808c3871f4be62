def notify(event, context, *, text, channel="general"):
    """Tell somebody."""
