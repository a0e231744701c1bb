-- minimum-compatible-version: 1
-- Backups that were made or attempted, and the backup that this database was restored from.

CREATE TABLE backups (
  id          text PRIMARY KEY,
  location    text NOT NULL,               -- folder, or s3://bucket/prefix/
  trigger     text NOT NULL CHECK (trigger IN ('command', 'schedule')),
  fault       text,                        -- null: it is complete
  rows        bigint,
  files       bigint,
  bytes       bigint,                      -- of the files
  verified_at timestamptz,
  started_at  timestamptz NOT NULL,
  finished_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX backups_by_end ON backups (finished_at);

-- One row in a restored database. Until finished_at is set, search indexes are still to be built.
CREATE TABLE restores (
  backup_id   text PRIMARY KEY,
  rebuilt     text[] NOT NULL DEFAULT '{}', -- ids of the buckets whose index is complete
  restored_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz
);
