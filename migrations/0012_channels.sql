-- minimum-compatible-version: 1
-- Messaging channels: their configurations, the replies to signed deliveries, the log of calls for the rate limit,
-- and the notifications that were sent.

CREATE TABLE channel_configs (
  id            text PRIMARY KEY,
  org_id        text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name          text NOT NULL,
  provider      text NOT NULL,
  bot_id        text,                      -- of provider 'messenger'; null for every other provider
  sealed_config bytea NOT NULL,            -- the whole config as JSON under AES-256-GCM; only bot_id is not encrypted
  created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX channel_configs_by_org ON channel_configs (org_id, created_at);
CREATE UNIQUE INDEX channel_configs_by_bot ON channel_configs (bot_id, org_id) WHERE bot_id IS NOT NULL;

-- A signed delivery and its reply. A row without a reply is claimed until claimed_until by the process that answers it.
CREATE TABLE channel_replies (
  config_id     text NOT NULL REFERENCES channel_configs (id) ON DELETE CASCADE,
  digest        bytea NOT NULL,            -- SHA-256 of the signature
  claimed_until timestamptz NOT NULL,
  reply         text,                      -- JSON; null until it is known
  expires_at    timestamptz NOT NULL,
  PRIMARY KEY (config_id, digest)
);
CREATE INDEX channel_replies_by_expiry ON channel_replies (expires_at);

-- Times of the verified calls of one bot within the last window, for installations without Redis. It outlives the
-- configuration, so that deleting and creating it again does not raise the limit.
CREATE TABLE channel_calls (
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  bot_id text NOT NULL,
  calls  timestamptz[] NOT NULL,
  PRIMARY KEY (org_id, bot_id)
);

-- Notifications since their request: sent to the provider, or kept here if no provider is configured.
CREATE TABLE channel_notifications (
  id              text PRIMARY KEY,
  org_id          text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  config_id       text NOT NULL,           -- no reference: the record outlives the configuration
  actor           text NOT NULL,
  idempotency_key text,
  phone           text NOT NULL,
  template_code   text NOT NULL,
  template_args   jsonb NOT NULL,
  via             text NOT NULL CHECK (via IN ('provider', 'outbox')),
  status          text NOT NULL CHECK (status IN ('requested', 'accepted', 'failed')),
  reason          text,                    -- reason of a failure
  uncertain       boolean NOT NULL DEFAULT false, -- failed, but the provider may have sent it
  message_id      text,
  requested_at    timestamptz NOT NULL DEFAULT now(),
  finished_at     timestamptz
);
CREATE INDEX channel_notifications_by_org ON channel_notifications (org_id, requested_at);
CREATE INDEX channel_notifications_by_time ON channel_notifications (requested_at);
CREATE UNIQUE INDEX channel_notifications_by_key ON channel_notifications (org_id, actor, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
