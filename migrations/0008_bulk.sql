-- minimum-compatible-version: 1
-- Bulk embedding: what a job of `jobs` with kind 'bulk' is about, which of its chunks are finished, and the usage that
-- is reserved for it until it ends.

CREATE TABLE bulk_jobs (
  job_id            text PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  model             text NOT NULL,         -- as it was asked for, or as the routing said: may be the alias
  backend           text NOT NULL,         -- the model that embeds all of it; the alias where its backends are comparable
  dimensions        integer,               -- as asked for
  vector_dimensions integer NOT NULL,      -- of the result
  task_type         text,
  input_count       integer NOT NULL,      -- texts
  chunk_size        integer NOT NULL,      -- texts a chunk
  token_count       bigint NOT NULL,
  resumes_job_id    text,                  -- whose finished chunks may be taken over (reprocess)
  result_model      text,                  -- models that were really used, joined by '+'; null until ready
  completed_count   integer,               -- texts that had been embedded when the files were removed; null before
  swept_at          timestamptz,           -- set: input and results are gone (retention)
  created_at        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX bulk_jobs_to_sweep ON bulk_jobs (created_at) WHERE swept_at IS NULL;

-- A chunk whose vectors are stored. Its row is written under the job's fence; without one an object counts for nothing.
CREATE TABLE bulk_chunks (
  job_id      text NOT NULL REFERENCES bulk_jobs (job_id) ON DELETE CASCADE,
  chunk       integer NOT NULL,
  texts       integer NOT NULL,
  row_crcs    bytea NOT NULL,              -- CRC-32 of each vector's bytes, 4 bytes each, little-endian
  space       text NOT NULL,               -- latent space that the vectors live in
  used        jsonb NOT NULL,              -- [{model, texts, tokens}]
  cost        double precision NOT NULL,
  inherited   boolean NOT NULL,            -- embedded, and paid for, by the job that this one resumes
  finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job_id, chunk)
);

-- Usage that is reserved for work which outlives its request. The units are in usage_counters already (0 where the plan
-- has no limit); whoever ends the work deletes the row and books what was really used.
CREATE TABLE usage_reservations (
  id         text PRIMARY KEY,             -- of the work: a job
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  axis       text NOT NULL CHECK (axis IN ('embed', 'embed_batch', 'embed_image')),
  day        date NOT NULL,                -- UTC; its month is the counter's
  units      bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
