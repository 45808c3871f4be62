def parse(event, context):
