-- minimum-compatible-version: 1
-- Connected sources: places whose files, objects or rows are kept as documents of a bucket.

-- The kinds are those of src/jobs/schema.ts; a list of them here would have to change with every new one.
ALTER TABLE jobs DROP CONSTRAINT jobs_kind_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_kind_check CHECK (kind ~ '^[a-z][a-z_]{0,31}$');

CREATE TABLE sources (
  id             text PRIMARY KEY,
  org_id         text NOT NULL,
  user_id        text REFERENCES users (id) ON DELETE CASCADE,  -- owner; null: the organization
  bucket_id      text NOT NULL,
  name           text NOT NULL,
  type           text NOT NULL CHECK (type IN ('folder', 's3', 'postgres')),
  connection     text NOT NULL,            -- name of a place in the operator's settings
  config         jsonb NOT NULL,
  tags           jsonb NOT NULL,           -- user metadata of its documents
  versions       text NOT NULL CHECK (versions IN ('replace', 'keep')),
  privacy_level  integer NOT NULL CHECK (privacy_level BETWEEN 1 AND 10),
  schedule       text,                     -- cron expression, UTC
  next_sync_at   timestamptz,
  sync_state     text NOT NULL DEFAULT 'idle' CHECK (sync_state IN ('idle', 'syncing', 'error')),
  sync_job_id    text,                     -- the last job, finished or not
  sync_fence     bigint,                   -- fencing token of the job that may write now; null: none may
  resync         boolean NOT NULL DEFAULT false,  -- something changed while the job was running
  counts         jsonb NOT NULL DEFAULT '{}',     -- of the last synchronisation
  error_message  text,
  last_synced_at timestamptz,
  created_by     text NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  updated_at     timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, name),
  FOREIGN KEY (org_id, bucket_id) REFERENCES buckets (org_id, id) ON DELETE CASCADE
);
CREATE INDEX sources_by_bucket ON sources (bucket_id);
CREATE INDEX sources_due ON sources (next_sync_at) WHERE next_sync_at IS NOT NULL;

-- One row for each file, object or row of a source that a synchronisation has seen.
CREATE TABLE source_entries (
  id          text PRIMARY KEY,
  org_id      text NOT NULL,
  source_id   text NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  key         text NOT NULL,               -- path, object key, or primary key as a JSON list
  version     text NOT NULL,               -- cheap sign of change: size and time, ETag, hash of the row
  size_bytes  bigint NOT NULL,
  sha256      bytea NOT NULL,              -- of the content
  document_id text,                        -- newest version; null: there was no text
  job_id      text NOT NULL,               -- the synchronisation that wrote it last
  UNIQUE (source_id, key)
);

ALTER TABLE documents
  ADD COLUMN source_id       text,
  ADD COLUMN source_entry_id text;
CREATE INDEX documents_by_source ON documents (source_id) WHERE source_id IS NOT NULL;
CREATE INDEX documents_by_source_entry ON documents (source_entry_id) WHERE source_entry_id IS NOT NULL;
-- Versions of one uploaded document have the same source_path, which may be longer than an index row.
CREATE INDEX documents_by_source_path ON documents (bucket_id, md5(source_path)) WHERE source_path IS NOT NULL;
