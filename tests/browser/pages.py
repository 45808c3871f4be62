"""Every page of the dashboard: where it is, what must be seen on it, how it may be looked at."""

from urllib.parse import quote_plus

from tests.browser.rig import Served

LOOKS = {
    "desk-light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "phone-dark": {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark"},
    "tablet-dark": {"viewport": {"width": 800, "height": 900}, "color_scheme": "dark"},
    "desk-dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone-light": {"viewport": {"width": 320, "height": 700}, "color_scheme": "light"},
}
FAULTY = ("/nothing", "/deliveries?state=nonsense")
"""The browser itself says on its console that these answer 404 and 400."""
CONDITION = quote_plus("payload.total_price > 500 && payload.currency == 'EUR'")
PAGES = {
    "/": ("Overview", "dead letter", "Endpoints", "In the last hour"),
    "/deliveries": ("Deliveries", "orders/paid", "Search"),
    "/deliveries?state=nonsense": ("nonsense",),
    "/deliveries/{delivery}": ("Jobs", "Rule results", "Request", "Body", "paid-orders"),
    "/deliveries/{delivery}/try": ("Try a condition", "Fields of this event"),
    "/deliveries/{delivery}/try?rule=yes&text=payload.id+%3E+1": ("Verdict", "tests:"),
    f"/deliveries/{{delivery}}/try?text={CONDITION}": ("is a text and", "Use decimal("),
    "/compare?id={delivery}&id={other}": ("Side by side", "payload.note"),
    "/jobs": ("Jobs", "paid-orders / log"),
    "/jobs/{job}": ("Attempts", "dead", "to-the-erp"),
    "/dead": ("Dead letters, by cause", "to-the-erp", "410"),
    "/plan?state=dead&cause={cause}": ("Nothing has been done yet", "Make"),
    "/replays": ("Replays",),
    "/replays/{replay}": ("Its jobs",),
    "/refused": ("Recently refused", "missing_signature"),
    "/refused/{refusal}": ("Refused: missing_signature", "forged"),
    "/rules": ("paid-orders", "Every paid order is told", "shadow"),
    "/targets": ("erp", "in use"),
    "/nodes": ("this router has it alone",),
    "/reload": ("Generations", "active"),
    "/generations/{generation}": ("paid-orders",),
    "/audit": ("who changed what", "replay"),
    "/tokens": ("who may look and act", "file beside the store", "A new token"),
    "/nothing": ("404",),
}


def ids_of(router: Served) -> dict[str, str]:
    """What stands in paths, after a little more has happened."""
    price = {"total": 512.5, "total_price": "512.50", "currency": "EUR"}
    delivery = router.send(number=7, country="DE", note="w" * 400, **price)
    router.until_quiet()
    replay = router.replay(delivery)
    return {
        "delivery": delivery,
        "other": router.api("/api/deliveries")["deliveries"][-1]["id"],
        "job": router.api("/api/jobs?state=dead")["jobs"][0]["id"],
        "cause": router.api("/api/dead")["causes"][0]["key"],
        "replay": replay,
        "refusal": router.api("/api/refusals")["refusals"][0]["kept"],
        "generation": router.api("/api/status")["generation"],
    }
