"""
An alert by e-mail. SMTP_URL names the server: smtps://USER:PASSWORD@smtp.example.net, smtp:// for
STARTTLS on port 587, or smtp://localhost:25 without a password.

Made by `router new alert`; it is yours to change.
"""

import smtplib
import ssl
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from router.plugin import Event, PlainContext

TIMEOUT_S = 20


def send(
    event: Event, context: PlainContext, *, sender: str, to: str, subject: str, text: str
) -> dict[str, str]:
    """Hand one mail to the server. What goes wrong is tried again, as the rule's `retry` says."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, to, subject
    mail["Date"] = event.received_at
    mail["Message-ID"] = f"<{event.idempotency_key}@router>"  # the same if it is sent again
    mail.set_content(text)
    server = urlsplit(context.secrets["smtp_url"])
    host, safely = server.hostname or "localhost", ssl.create_default_context()
    smtp: smtplib.SMTP
    if server.scheme == "smtps":
        smtp = smtplib.SMTP_SSL(host, server.port or 465, timeout=TIMEOUT_S, context=safely)
    else:
        smtp = smtplib.SMTP(host, server.port or 587, timeout=TIMEOUT_S)
    with smtp:
        if server.username is not None:
            if server.scheme != "smtps":
                smtp.starttls(context=safely)
            smtp.login(unquote(server.username), unquote(server.password or ""))
        smtp.send_message(mail)
    return {"to": to}
