-- minimum-compatible-version: 1
-- Organizations and who may act for them, buckets and documents, jobs, and what the search index holds.
-- Every tenant-owned row carries org_id, and every query names it.

-- One row: a keyed hash of a constant, by which a process notices that it holds another installation's secret key.
CREATE TABLE installation (
  only_row         boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  secret_key_check bytea NOT NULL
);

CREATE TABLE organizations (
  id           text PRIMARY KEY,
  name         text NOT NULL UNIQUE,
  plan         text NOT NULL CHECK (plan IN ('enterprise', 'business', 'pro', 'paid', 'starter', 'free')),
  suspended_at timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
  id           text PRIMARY KEY,
  org_id       text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  email        text NOT NULL,
  role         text NOT NULL CHECK (role IN ('member', 'admin', 'owner', 'org_admin', 'platform_admin')),
  auth_level   integer NOT NULL CHECK (auth_level BETWEEN 1 AND 10),
  department   text,
  oidc_issuer  text,
  oidc_subject text,
  suspended_at timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, email),
  UNIQUE (oidc_issuer, oidc_subject)
);

CREATE TABLE api_keys (
  id           text PRIMARY KEY,           -- the public part of the key, safe to show
  org_id       text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id      text REFERENCES users (id) ON DELETE CASCADE,
  name         text NOT NULL,
  hash         bytea NOT NULL,             -- HMAC-SHA-256 of the whole key under the server's pepper
  scopes       text[] NOT NULL,
  auth_level   integer NOT NULL CHECK (auth_level BETWEEN 1 AND 10),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_keys_by_org ON api_keys (org_id, created_at);

CREATE TABLE idempotency_keys (
  org_id          text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  key             text NOT NULL,
  fingerprint     bytea NOT NULL,          -- SHA-256 over operation id and body
  response_status integer,                 -- null while the first request is still in progress
  response_body   jsonb,
  locked_until    timestamptz NOT NULL,    -- after this an unfinished first request counts as dead
  expires_at      timestamptz NOT NULL,
  PRIMARY KEY (org_id, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

CREATE TABLE audit_log (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL DEFAULT now(),
  org_id  text,
  actor   text NOT NULL,                   -- key:<id>, user:<id>, operator:<os user>
  action  text NOT NULL,                   -- document.delete, key.create, …
  target  text,
  detail  jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_by_target ON audit_log (org_id, target, id);

CREATE TABLE buckets (
  id         text PRIMARY KEY,
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name       text NOT NULL,
  policy     jsonb NOT NULL,
  deleting_at timestamptz,                -- set: gone for every caller, its parts are being removed
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, name),
  UNIQUE (org_id, id)
);

CREATE TABLE collections (
  id         text PRIMARY KEY,
  org_id     text NOT NULL,
  bucket_id  text NOT NULL,
  name       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (bucket_id, name),
  FOREIGN KEY (org_id, bucket_id) REFERENCES buckets (org_id, id) ON DELETE CASCADE
);

CREATE SEQUENCE document_generations;

CREATE TABLE documents (
  id                  text PRIMARY KEY,
  org_id              text NOT NULL,
  bucket_id           text NOT NULL,
  collection_id       text REFERENCES collections (id) ON DELETE SET NULL,
  file_name           text NOT NULL,       -- as the uploader named it; never used as a path
  file_type           text,                -- the format found in the bytes (pdf, md, …), null until extracted
  content_type        text,
  size_bytes          bigint NOT NULL,
  sha256              bytea NOT NULL,
  object_key          text NOT NULL,
  ingest_options      jsonb NOT NULL,      -- chunk_size, chunk_overlap, ocr_strategy
  status              text NOT NULL CHECK (status IN ('queued', 'processing', 'ready', 'failed', 'deleting')),
  searchable          boolean NOT NULL DEFAULT true,
  active_generation   bigint,              -- the only generation whose chunks may be found; null: none
  chunks_count        integer,
  page_count          integer,
  embed_model         text,
  metadata            jsonb NOT NULL DEFAULT '{}',
  privacy_level       integer NOT NULL DEFAULT 1 CHECK (privacy_level BETWEEN 1 AND 10),
  classification      text NOT NULL DEFAULT 'internal',
  review_status       text NOT NULL DEFAULT 'pending',
  scope               text,
  internal_accessible boolean NOT NULL DEFAULT true,
  public_accessible   boolean NOT NULL DEFAULT false,
  owner_department    text,
  uploaded_by_user_id text,
  source_path         text,
  event_time          timestamptz,
  created_at          timestamptz NOT NULL DEFAULT now(),
  updated_at          timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (org_id, bucket_id) REFERENCES buckets (org_id, id) ON DELETE CASCADE
);
CREATE INDEX documents_by_bucket ON documents (bucket_id, id DESC);
CREATE INDEX documents_by_hash ON documents (bucket_id, sha256);
CREATE INDEX documents_deleting ON documents (bucket_id) WHERE status = 'deleting';
CREATE INDEX documents_by_metadata ON documents USING gin (metadata jsonb_path_ops);

CREATE TABLE jobs (
  id                  text PRIMARY KEY,
  kind                text NOT NULL CHECK (kind IN ('ingest', 'bulk')),
  org_id              text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  bucket_id           text NOT NULL,
  collection_id       text,
  document_id         text,
  workflow_id         text,
  source_entry_id     text,
  priority            integer NOT NULL DEFAULT 2,
  fair_rank           bigint NOT NULL,     -- place among the organizations' turns, given at enqueue
  status              text NOT NULL CHECK (status IN
                        ('queued', 'extracting', 'chunking', 'embedding', 'indexing', 'ready', 'failed', 'cancelled')),
  s3_key              text NOT NULL,
  file_name           text NOT NULL,
  file_size           bigint NOT NULL,
  file_type           text,
  processing_type     text,
  estimated_cost      double precision NOT NULL DEFAULT 0,
  actual_cost         double precision,
  chunks_count        integer,
  failed_phase        text,
  error_category      text,
  error_message       text,
  retryable           boolean,
  retry_count         integer NOT NULL DEFAULT 0,   -- attempts that failed
  crash_count         integer NOT NULL DEFAULT 0,   -- leases that were lost
  reprocess_of_job_id text,
  worker_id           text,
  fence               bigint NOT NULL DEFAULT 0,    -- fencing token: raised by every claim and cancel
  lease_expires_at    timestamptz,
  checkpoint_at       timestamptz,                  -- last sign of life, for the reap call
  generation          bigint,                       -- the document generation that this attempt writes
  scheduled_at        timestamptz,
  started_at          timestamptz,
  completed_at        timestamptz,
  metadata_snapshot   jsonb,
  created_at          timestamptz NOT NULL DEFAULT now(),
  updated_at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_to_claim ON jobs (kind, priority, fair_rank, created_at) WHERE status = 'queued';
CREATE INDEX jobs_queued_by_org ON jobs (kind, priority, org_id, fair_rank) WHERE status = 'queued';
CREATE INDEX jobs_by_lease ON jobs (lease_expires_at)
  WHERE status IN ('extracting', 'chunking', 'embedding', 'indexing');
CREATE INDEX jobs_by_org ON jobs (org_id, created_at DESC, id DESC);
CREATE INDEX jobs_by_bucket ON jobs (bucket_id, created_at DESC);
CREATE INDEX jobs_by_document ON jobs (document_id, created_at DESC);

-- Each try at chunking and indexing a document writes under its own generation; a generation is found by
-- searches only while documents.active_generation names it, and is swept once nothing can make it active.
CREATE TABLE generations (
  id           bigint PRIMARY KEY,
  org_id       text NOT NULL,
  bucket_id    text NOT NULL,
  document_id  text NOT NULL,
  job_id       text NOT NULL,
  artifact_key text NOT NULL,              -- chunks with their vectors, enough to rebuild the index
  chunks_count integer NOT NULL,
  embed_model  text NOT NULL,
  space        text NOT NULL,              -- latent space that the vectors live in
  created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX generations_by_document ON generations (document_id);
CREATE INDEX generations_by_bucket ON generations (bucket_id);

-- One row per LanceDB table: written by the writer under its lock, read by readers to know when theirs is old.
CREATE TABLE index_tables (
  bucket_id  text PRIMARY KEY,
  version    bigint NOT NULL,
  space      text,                         -- latent space of the vectors in it; null while it is empty
  settled    boolean NOT NULL,             -- false: rows wait to be merged, or deleted ones to be taken off the disk
  cleaned_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workers (
  id         text PRIMARY KEY,
  kind       text NOT NULL,
  host       text NOT NULL,
  pid        integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at    timestamptz NOT NULL DEFAULT now()
);
