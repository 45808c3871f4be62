-- What a replay passed over, because an earlier one had made it already.

ALTER TABLE replays ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE replays ADD COLUMN earlier TEXT;    -- the newest job that an earlier one had made, by id
