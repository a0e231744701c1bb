-- minimum-compatible-version: 1
-- Requests that succeeded by the key or user who sent them, summed up by UTC day. Work of the service itself has no row.
CREATE TABLE usage_by_actor (
  org_id   text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day      date NOT NULL,
  actor    text NOT NULL,                  -- key:<id>, user:<id>, operator:<os user>, channel:<id>
  requests bigint NOT NULL,
  tokens   bigint NOT NULL,
  PRIMARY KEY (org_id, day, actor)
);

-- Sender of a bulk job, for whom its usage is booked when it ends; null in rows of earlier versions.
ALTER TABLE usage_reservations ADD COLUMN actor text;
