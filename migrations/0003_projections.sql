-- minimum-compatible-version: 1
-- The canonical latent space, and each model's maps into it. Vectors and matrices are objects; these rows point at them.

-- A space is made once and never refitted; a new one gets a new id.
CREATE TABLE projection_spaces (
  id                 text PRIMARY KEY,        -- canon-v1, …
  dimensions         integer NOT NULL,
  reference_model    text NOT NULL,
  reference_revision text NOT NULL,
  pairs              integer NOT NULL,        -- texts whose canonical vectors are frozen with it
  object_key         text NOT NULL,
  sha256             bytea NOT NULL,
  created_at         timestamptz NOT NULL DEFAULT now()
);

CREATE SEQUENCE projection_versions;

CREATE TABLE projection_maps (
  version        bigint PRIMARY KEY,
  space_id       text NOT NULL REFERENCES projection_spaces (id),
  model          text NOT NULL,
  model_revision text NOT NULL,
  method         text NOT NULL CHECK (method IN ('procrustes', 'ridge')),
  native_dimension integer NOT NULL,
  rank           integer NOT NULL,            -- axes that carry information
  pairs          integer NOT NULL,
  score          double precision,            -- identity recall@1 on held-out texts; null: none were held out
  scores         jsonb NOT NULL DEFAULT '{}', -- the whole evaluation
  grade          text NOT NULL CHECK (grade IN ('good', 'warn', 'fail', 'unknown')),
  status         text NOT NULL CHECK (status IN ('inactive', 'active', 'retired')),
  stale_at       timestamptz,                 -- set: the vendor changed the model since the map was fitted
  checked_at     timestamptz,                 -- when its canaries were compared last
  object_key     text NOT NULL,
  sha256         bytea NOT NULL,
  created_by     text NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now()
);
-- One map a model is in use.
CREATE UNIQUE INDEX projection_maps_active ON projection_maps (model) WHERE status = 'active';
CREATE INDEX projection_maps_by_model ON projection_maps (model, version DESC);
