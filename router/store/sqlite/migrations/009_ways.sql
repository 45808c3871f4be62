-- By which way a change was asked for.

ALTER TABLE audit ADD COLUMN way TEXT;      -- page, api or command; NULL: by the router, or before
