-- minimum-compatible-version: 1
-- History of verified deliveries, without what people wrote and without the replies, which are in channel_replies for as long
-- as a repeated delivery gets the same one.
CREATE TABLE channel_deliveries (
  config_id   text NOT NULL REFERENCES channel_configs (id) ON DELETE CASCADE,
  digest      bytea NOT NULL,              -- SHA-256 of the signature
  org_id      text NOT NULL,
  received_at timestamptz NOT NULL,
  outcome     text,                        -- answered, nothing_found, …; null until there is a reply
  answered_at timestamptz,
  PRIMARY KEY (config_id, digest)
);
CREATE INDEX channel_deliveries_listed ON channel_deliveries (org_id, received_at DESC, digest DESC);
CREATE INDEX channel_deliveries_by_config ON channel_deliveries (config_id, received_at DESC, digest DESC);
CREATE INDEX channel_deliveries_by_time ON channel_deliveries (received_at);

-- Deliveries whose replies are still kept.
INSERT INTO channel_deliveries (config_id, digest, org_id, received_at, outcome, answered_at)
SELECT r.config_id, r.digest, c.org_id, r.expires_at - interval '10 minutes',
       CASE WHEN r.reply IS NOT NULL THEN 'answered' END, CASE WHEN r.reply IS NOT NULL THEN r.expires_at - interval '10 minutes' END
FROM channel_replies r JOIN channel_configs c ON c.id = r.config_id;
