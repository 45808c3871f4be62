def notify(event, context, *, text, channel="general"):
    """Called by err/plugins.yaml."""
