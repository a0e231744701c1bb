-- minimum-compatible-version: 1
-- Sources of more types, what went wrong with single entries, and pauses.

-- The types are those of src/memory/readers/configs.ts; a list of them here would have to change with every new one.
ALTER TABLE sources DROP CONSTRAINT sources_type_check;
ALTER TABLE sources ADD CONSTRAINT sources_type_check CHECK (type ~ '^[a-z][a-z0-9]{0,31}$');

ALTER TABLE sources
  ADD COLUMN paused_at timestamptz,        -- since then, neither schedules nor changes start a synchronisation
  ADD COLUMN retry_keys text[];            -- entries that the next synchronisation reads alone; null: all

-- What the reader of a source keeps between synchronisations; a cache.
CREATE TABLE source_states (
  source_id text PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
  org_id    text NOT NULL,
  state     bytea NOT NULL
);

-- Entries that the last synchronisation could not read, or left out.
CREATE TABLE source_faults (
  org_id    text NOT NULL,
  source_id text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  key       text NOT NULL,
  is_folder boolean NOT NULL,
  fault     text NOT NULL,
  since     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source_id, key)
);
