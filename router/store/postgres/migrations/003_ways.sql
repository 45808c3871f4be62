-- By which way a change was asked for. Routers of the version before leave it out.

ALTER TABLE audit ADD COLUMN way text;      -- page, api or command; NULL: by the router, or before
