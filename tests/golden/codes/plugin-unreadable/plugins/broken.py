def notify(event, context, *, text):
