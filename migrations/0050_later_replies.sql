-- minimum-compatible-version: 1
-- Replies to deliveries that are sent by a call of their own, after the response to the delivery. A row is stored before
-- that response. It stays for two days, so that a repeated delivery is not answered again.
CREATE TABLE channel_later_replies (
  config_id   text NOT NULL REFERENCES channel_configs (id) ON DELETE CASCADE,
  digest      bytea NOT NULL,              -- that of the delivery
  org_id      text NOT NULL,
  sealed      bytea,                       -- the question and the address of the reply under AES-256-GCM; null once it is over
  status      text NOT NULL CHECK (status IN ('waiting', 'sending', 'sent', 'failed')),
  reason      text,                        -- of the last failure
  uncertain   boolean NOT NULL DEFAULT false, -- failed, but the platform may have it
  received_at timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,        -- end of the time in which the platform takes the reply
  claim       text,                        -- of the process that answers it
  due_at      timestamptz NOT NULL,        -- from then on another process may take it
  finished_at timestamptz,
  PRIMARY KEY (config_id, digest)
);
CREATE INDEX channel_later_replies_open ON channel_later_replies (due_at) WHERE status IN ('waiting', 'sending');
CREATE INDEX channel_later_replies_by_time ON channel_later_replies (received_at);
