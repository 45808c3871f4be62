"""A request as a file that `router doctor` and `router new provider` take."""

import base64
from typing import Any

from router.model.delivery import InboundRequest


def as_json(request: InboundRequest) -> dict[str, Any]:
    """The request in the form that `read_captured` takes."""
    return {
        "method": request.method,
        "path": request.raw_path.decode("latin-1"),
        "query": request.query_string.decode("latin-1"),
        "headers": [[n.decode("latin-1"), v.decode("latin-1")] for n, v in request.headers],
        "body_base64": base64.b64encode(request.body).decode("ascii"),
    } | ({"at": request.received_at} if request.received_at else {})
