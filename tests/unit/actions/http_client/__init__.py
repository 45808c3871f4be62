"""Plain HTTP: requests, responses, connections."""
