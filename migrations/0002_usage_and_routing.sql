-- minimum-compatible-version: 1
-- What organizations used, what of it counts against their monthly quotas, and which models they embed with.

-- Texts (or images) of a calendar month, UTC, that count against the quota: those used and those reserved by
-- requests under way.
CREATE TABLE usage_counters (
  org_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  axis   text NOT NULL CHECK (axis IN ('embed', 'embed_batch', 'embed_image')),
  month  date NOT NULL,                    -- its first day
  used   bigint NOT NULL,
  PRIMARY KEY (org_id, axis, month)
);

-- Requests that succeeded, summed up by UTC day. A request that several models answered has a row of each;
-- it counts in requests_led on one of them only, and in requests on all.
CREATE TABLE usage_ledger (
  org_id       text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day          date NOT NULL,
  axis         text NOT NULL CHECK (axis IN ('embed', 'embed_batch', 'embed_image')),
  model        text NOT NULL,
  internal     boolean NOT NULL,           -- made inside the service: search, ingest, memory, channels
  requests     bigint NOT NULL,
  requests_led bigint NOT NULL,
  texts        bigint NOT NULL,
  tokens       bigint NOT NULL,
  images       bigint NOT NULL,
  PRIMARY KEY (org_id, day, axis, model, internal)
);

-- The last flush of each process's ledger, so that one that is tried again after a lost answer counts once.
CREATE TABLE usage_flushes (
  ledger_id  text PRIMARY KEY,
  sequence   bigint NOT NULL,
  flushed_at timestamptz NOT NULL DEFAULT now()
);

-- Which models an organization embeds with; one without a row has the defaults.
CREATE TABLE routing (
  org_id         text PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
  primary_model  text NOT NULL,
  fallback_model text,
  mode           text NOT NULL CHECK (mode IN ('fallback', 'single')),
  updated_at     timestamptz NOT NULL DEFAULT now(),
  updated_by     text NOT NULL             -- key:<id>, user:<id>, operator:<os user>
);
