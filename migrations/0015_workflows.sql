-- minimum-compatible-version: 1
-- Workflows: definitions in versions, of which one may be published, and the history of runs.

CREATE TABLE workflows (
  id                text PRIMARY KEY,
  org_id            text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name              text NOT NULL,
  latest_version    integer NOT NULL,
  published_version integer,               -- null: a draft
  created_by        text NOT NULL,
  created_at        timestamptz NOT NULL DEFAULT now(),
  updated_at        timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, name)
);

CREATE TABLE workflow_versions (
  workflow_id  text NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
  version      integer NOT NULL,
  definition   json NOT NULL,              -- json keeps the order of keys as it was written
  created_by   text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz,                -- of the first publication
  PRIMARY KEY (workflow_id, version)
);

-- A run belongs to the process that began it. One without a heartbeat has failed; it is never continued.
CREATE TABLE workflow_runs (
  id              text PRIMARY KEY,
  org_id          text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  workflow_id     text NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
  version         integer NOT NULL,
  mode            text NOT NULL CHECK (mode IN ('dry_run', 'simulate', 'live')),
  status          text NOT NULL CHECK (status IN ('running', 'completed', 'needs_approval', 'failed')),
  actor           text NOT NULL,
  auth_level      integer NOT NULL,        -- of the caller, whose results may show documents up to it
  idempotency_key text,
  fingerprint     bytea,                   -- of the request with that key
  inputs          jsonb NOT NULL,
  output          jsonb,
  error           text,
  heartbeat_at    timestamptz NOT NULL DEFAULT now(),
  started_at      timestamptz NOT NULL DEFAULT now(),
  finished_at     timestamptz
);
CREATE INDEX workflow_runs_by_workflow ON workflow_runs (workflow_id, id DESC);
CREATE INDEX workflow_runs_running ON workflow_runs (heartbeat_at) WHERE status = 'running';
CREATE INDEX workflow_runs_by_time ON workflow_runs (started_at);
CREATE UNIQUE INDEX workflow_runs_by_key ON workflow_runs (org_id, actor, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- Results of the blocks of a run, in the order in which they ran. A block is written before it runs, too.
CREATE TABLE workflow_run_blocks (
  run_id       text NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
  position     integer NOT NULL,
  result       jsonb NOT NULL,
  document_ids text[] NOT NULL,            -- documents that the result names; it is erased when one is deleted
  PRIMARY KEY (run_id, position)
);
CREATE INDEX workflow_run_blocks_by_document ON workflow_run_blocks USING gin (document_ids);
