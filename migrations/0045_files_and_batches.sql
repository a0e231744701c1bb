-- minimum-compatible-version: 1
-- Files and batches in the shapes of OpenAI's API.

-- Uploaded files, and the output and error files of batches.
CREATE TABLE files (
  id         text PRIMARY KEY,
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  purpose    text NOT NULL,
  file_name  text NOT NULL,
  size_bytes bigint NOT NULL,
  object_key text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz                   -- null: kept until it is deleted
);
CREATE INDEX files_by_org ON files (org_id, created_at, id);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

-- What a job of `jobs` with kind 'batch' is about. It outlives the row of its job.
CREATE TABLE batches (
  id             text PRIMARY KEY,
  org_id         text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  job_id         text NOT NULL UNIQUE,
  actor          text NOT NULL,            -- who made it, for the usage by key
  endpoint       text NOT NULL,
  window_text    text NOT NULL,            -- completion window as asked for
  input_file_id  text NOT NULL,
  input_key      text NOT NULL,            -- object of the input, kept until the batch ends
  output_seconds integer,                  -- lifetime of the output files as asked for
  metadata       jsonb,
  status         text NOT NULL CHECK (status IN ('validating', 'failed', 'in_progress', 'finalizing', 'completed',
                                                 'expired', 'cancelling', 'cancelled')),
  errors         jsonb,                    -- [{code, message, param, line}], if it failed
  model          text,                     -- models that were really used, joined by '+'
  tokens         bigint,
  output_file_id text,
  error_file_id  text,
  total          integer NOT NULL DEFAULT 0,
  completed      integer NOT NULL DEFAULT 0,
  failed         integer NOT NULL DEFAULT 0,
  created_at     timestamptz NOT NULL DEFAULT now(),
  expires_at     timestamptz NOT NULL,
  in_progress_at timestamptz,
  finalizing_at  timestamptz,
  cancelling_at  timestamptz,
  ended_at       timestamptz
);
CREATE INDEX batches_by_org ON batches (org_id, created_at, id);
CREATE INDEX batches_unfinished ON batches (input_key) WHERE ended_at IS NULL;
CREATE INDEX batches_by_end ON batches (ended_at) WHERE ended_at IS NOT NULL;

-- Model of all requests of a batch that name the same model, dimensions and task type. It is chosen once.
CREATE TABLE batch_groups (
  batch_id          text NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
  group_no          integer NOT NULL,      -- in the order of the first request
  backend           text,                  -- null: no model can embed it, for the reason in `fault`
  vector_dimensions integer,
  fault             jsonb,                 -- {code, message, param, status}
  PRIMARY KEY (batch_id, group_no)
);

-- A chunk whose vectors are stored. Its row is written under the job's fence.
CREATE TABLE batch_chunks (
  batch_id    text NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
  chunk       integer NOT NULL,
  space       text,                        -- latent space; null if every text was refused
  used        jsonb NOT NULL,              -- [{model, texts, tokens}]
  cost        double precision NOT NULL,
  finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (batch_id, chunk)
);
