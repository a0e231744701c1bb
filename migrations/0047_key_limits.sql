-- minimum-compatible-version: 1
-- Limits of API keys, and the units that each key used in a month.
ALTER TABLE api_keys ADD COLUMN limits jsonb;

CREATE TABLE usage_key_counters (
  org_id text   NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  -- No reference: usage is written after a key may have been deleted.
  key_id text   NOT NULL,
  axis   text   NOT NULL,
  month  date   NOT NULL,
  used   bigint NOT NULL,
  PRIMARY KEY (org_id, key_id, axis, month)
);

-- API key whose quotas the reservation counts against, and its units that are in the counter of the key.
ALTER TABLE usage_reservations ADD COLUMN key_id text;
ALTER TABLE usage_reservations ADD COLUMN key_units bigint NOT NULL DEFAULT 0;
