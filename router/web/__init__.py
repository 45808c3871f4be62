"""The listeners: the public one for senders; Litestar serves the admin API and the pages."""
