-- minimum-compatible-version: 1
-- Outbound webhooks: endpoints of organizations, and the events that wait to be sent to them. Triggers write an event in the
-- transaction of the change, so that none is lost, whichever process makes the change.

CREATE TABLE webhook_endpoints (
  id              text PRIMARY KEY,
  org_id          text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name            text NOT NULL,
  url             text NOT NULL,
  events          text[] NOT NULL,         -- types that it gets
  sealed_secret   bytea NOT NULL,
  sealed_previous bytea,                   -- secret before the last rotation
  previous_until  timestamptz,             -- events are signed with both secrets until then
  disabled_at     timestamptz,             -- set: it gets no events
  disabled_reason text,
  failing_since   timestamptz,             -- first failure since the last success
  paused_until    timestamptz,             -- nothing is sent to it before
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, name)
);

CREATE TABLE webhook_deliveries (
  seq           bigint GENERATED ALWAYS AS IDENTITY,  -- order of the events of one object
  endpoint_id   text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
  id            text NOT NULL,             -- of the event: header webhook-id
  org_id        text NOT NULL,
  type          text NOT NULL,
  object_id     text NOT NULL,             -- job, document, source, run or quota that the event is about
  data          jsonb NOT NULL,
  once_key      text,                      -- an event with a key is written once
  status        text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  tries         integer NOT NULL DEFAULT 0,    -- claims; fences a process that was too slow
  next_at       timestamptz NOT NULL DEFAULT clock_timestamp(),  -- time of the next try, or end of the claim
  reply_status  integer,                   -- of the last try; null: there was no reply
  error         text,                      -- of the last try
  occurred_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  queued_at     timestamptz NOT NULL DEFAULT clock_timestamp(),  -- of the event, or of its replay
  tried_at      timestamptz,
  finished_at   timestamptz,
  PRIMARY KEY (endpoint_id, id)
);
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint_id, seq);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_at, seq) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_by_object ON webhook_deliveries (endpoint_id, object_id, seq) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (endpoint_id, once_key) WHERE once_key IS NOT NULL;

-- Write an event for each endpoint of an organization that gets its type.
CREATE FUNCTION note_webhook_event(org text, event text, object text, facts jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  event_id text := 'msg_' || replace(gen_random_uuid()::text, '-', '');
BEGIN
  INSERT INTO webhook_deliveries (endpoint_id, id, org_id, type, object_id, data)
  SELECT id, event_id, org, event, object, facts FROM webhook_endpoints
  WHERE org_id = org AND disabled_at IS NULL AND event = ANY (events);
END $$;

-- The triggers first ask if the organization has an endpoint, which is all that other organizations pay.
CREATE FUNCTION note_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM webhook_endpoints WHERE org_id = NEW.org_id) THEN
    PERFORM note_webhook_event(
      NEW.org_id,
      'job.' || CASE WHEN NEW.status IN ('queued', 'ready', 'failed', 'cancelled') THEN NEW.status ELSE 'started' END,
      NEW.id,
      jsonb_build_object(
        'id', NEW.id, 'kind', NEW.kind, 'status', NEW.status, 'bucket_id', NEW.bucket_id,
        'document_id', NEW.document_id, 'retry_count', NEW.retry_count,
        'error_category', CASE WHEN NEW.status = 'failed' THEN NEW.error_category END));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_inserted_event AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION note_job_event();
CREATE TRIGGER jobs_updated_event AFTER UPDATE OF status ON jobs FOR EACH ROW
  WHEN (OLD.status <> NEW.status
        AND (OLD.status = 'queued' OR NEW.status IN ('queued', 'ready', 'failed', 'cancelled')))
  EXECUTE FUNCTION note_job_event();

CREATE FUNCTION note_document_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  document documents;
BEGIN
  IF TG_OP = 'DELETE' THEN document := OLD; ELSE document := NEW; END IF;
  IF EXISTS (SELECT FROM webhook_endpoints WHERE org_id = document.org_id) THEN
    PERFORM note_webhook_event(
      document.org_id,
      'document.' || CASE WHEN TG_OP = 'INSERT' THEN 'created'
                          WHEN TG_OP = 'DELETE' OR document.status = 'deleting' THEN 'deleted'
                          ELSE document.status END,
      document.id,
      jsonb_build_object(
        'id', document.id, 'bucket_id', document.bucket_id, 'collection_id', document.collection_id,
        'source_id', document.source_id, 'status', CASE WHEN TG_OP = 'DELETE' THEN 'deleting' ELSE document.status END));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER documents_inserted_event AFTER INSERT ON documents FOR EACH ROW EXECUTE FUNCTION note_document_event();
CREATE TRIGGER documents_updated_event AFTER UPDATE OF status ON documents FOR EACH ROW
  WHEN (OLD.status <> NEW.status AND NEW.status IN ('ready', 'failed', 'deleting'))
  EXECUTE FUNCTION note_document_event();
CREATE TRIGGER documents_deleted_event AFTER DELETE ON documents FOR EACH ROW
  WHEN (OLD.status <> 'deleting') EXECUTE FUNCTION note_document_event();

CREATE FUNCTION note_source_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM webhook_endpoints WHERE org_id = NEW.org_id) THEN
    PERFORM note_webhook_event(
      NEW.org_id,
      'source.' || CASE NEW.sync_state WHEN 'syncing' THEN 'syncing' WHEN 'error' THEN 'failed' ELSE 'synced' END,
      NEW.id,
      jsonb_build_object('id', NEW.id, 'bucket_id', NEW.bucket_id, 'job_id', NEW.sync_job_id, 'status', NEW.sync_state));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER sources_updated_event AFTER UPDATE OF sync_state ON sources FOR EACH ROW
  WHEN (OLD.sync_state <> NEW.sync_state) EXECUTE FUNCTION note_source_event();

-- A decision on a waiting run makes a run that continues it. The decision is an event of the run that waited.
CREATE FUNCTION note_run_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_decision boolean := TG_OP = 'INSERT';
  run text := CASE WHEN is_decision THEN NEW.continues ELSE NEW.id END;
BEGIN
  IF EXISTS (SELECT FROM webhook_endpoints WHERE org_id = NEW.org_id) THEN
    PERFORM note_webhook_event(
      NEW.org_id, 'workflow_run.' || CASE WHEN is_decision THEN 'decided' ELSE NEW.status END, run,
      jsonb_build_object(
        'id', run, 'workflow_id', NEW.workflow_id, 'version', NEW.version, 'mode', NEW.mode,
        'status', CASE WHEN is_decision THEN 'decided' ELSE NEW.status END,
        'continued_by', CASE WHEN is_decision THEN NEW.id END));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER workflow_runs_inserted_event AFTER INSERT ON workflow_runs FOR EACH ROW
  WHEN (NEW.continues IS NOT NULL) EXECUTE FUNCTION note_run_event();
CREATE TRIGGER workflow_runs_updated_event AFTER UPDATE OF status ON workflow_runs FOR EACH ROW
  WHEN (OLD.status <> NEW.status AND NEW.status <> 'running') EXECUTE FUNCTION note_run_event();

-- What starts a workflow: a schedule, a signed request, or a new document of a bucket.
CREATE TABLE workflow_triggers (
  id              text PRIMARY KEY,
  org_id          text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  workflow_id     text NOT NULL REFERENCES workflows (id) ON DELETE CASCADE,
  kind            text NOT NULL CHECK (kind IN ('schedule', 'webhook', 'document')),
  mode            text NOT NULL CHECK (mode IN ('simulate', 'live')),
  schedule        text,                    -- cron expression, UTC
  next_start_at   timestamptz,             -- of a schedule
  bucket_id       text REFERENCES buckets (id) ON DELETE CASCADE,  -- of documents
  sealed_secret   bytea,                   -- of a webhook
  actor           text NOT NULL,           -- key or user with whose rights it runs
  last_started_at timestamptz,
  last_error      text,                    -- why the last start failed
  created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX workflow_triggers_by_workflow ON workflow_triggers (workflow_id, created_at);
CREATE INDEX workflow_triggers_by_bucket ON workflow_triggers (bucket_id) WHERE bucket_id IS NOT NULL;
CREATE INDEX workflow_triggers_due ON workflow_triggers (next_start_at) WHERE next_start_at IS NOT NULL;

-- Starts that wait for a process. A key starts a workflow once: time of a schedule, id of a request or a document.
CREATE TABLE workflow_starts (
  trigger_id text NOT NULL REFERENCES workflow_triggers (id) ON DELETE CASCADE,
  key        text NOT NULL,
  org_id     text NOT NULL,
  event      jsonb NOT NULL,
  tries      integer NOT NULL DEFAULT 0,
  next_at    timestamptz DEFAULT clock_timestamp(),  -- time of the next try, or end of the claim; null: it is over
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (trigger_id, key)
);
CREATE INDEX workflow_starts_due ON workflow_starts (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX workflow_starts_old ON workflow_starts (created_at) WHERE next_at IS NULL;

CREATE FUNCTION note_workflow_start() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO workflow_starts (trigger_id, key, org_id, event)
  SELECT id, NEW.id, NEW.org_id, jsonb_build_object('document_id', NEW.id, 'bucket_id', NEW.bucket_id)
  FROM workflow_triggers WHERE bucket_id = NEW.bucket_id
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER documents_ready_start AFTER UPDATE OF status ON documents FOR EACH ROW
  WHEN (OLD.status <> 'ready' AND NEW.status = 'ready') EXECUTE FUNCTION note_workflow_start();
