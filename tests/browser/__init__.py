"""The operator's window in a real browser: the system's own Chromium, driven by Playwright."""
