-- minimum-compatible-version: 1
-- Moves of organizations between installations.

ALTER TABLE organizations
  -- draining, moving: it is being exported, and nothing of it changes; moved: another installation serves it;
  -- arriving: it is being imported. Null: it is served here.
  ADD COLUMN move_state text CHECK (move_state IN ('draining', 'moving', 'moved', 'arriving')),
  ADD COLUMN move_id text,                   -- export that the state belongs to
  ADD COLUMN suspended_before timestamptz,   -- suspended_at before the state moved
  ADD COLUMN arrived_at timestamptz;         -- set for an organization of another installation
CREATE INDEX organizations_in_moves ON organizations (id) WHERE move_state IS NOT NULL;

-- Key under which the hash of an API key of another installation was made; null: that of this installation.
ALTER TABLE api_keys ADD COLUMN sealed_pepper bytea;

-- First characters of the public ids of new API keys, by which a proxy finds the installation; null: none.
ALTER TABLE installation ADD COLUMN key_prefix text CHECK (key_prefix ~ '^[0-9A-Za-z]{1,3}$');

-- Imports of organizations, and how far each is. Times are null until then.
CREATE TABLE organization_imports (
  move_id           text PRIMARY KEY,
  org_id            text NOT NULL UNIQUE,
  generation_offset bigint NOT NULL,         -- added to the ids of generations
  rows_at           timestamptz,
  objects_at        timestamptz,
  rebuilt           text[] NOT NULL DEFAULT '{}',   -- buckets whose index is built
  left_out          text[] NOT NULL DEFAULT '{}',   -- documents whose stored chunks are damaged or gone
  verified_at       timestamptz,
  activated_at      timestamptz,
  started_at        timestamptz NOT NULL DEFAULT now()
);

-- Refuse a change of an organization that is being moved. The lock makes the change and the beginning of the move wait
-- for each other, so that an export has every change that was not refused.
CREATE FUNCTION refuse_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  state text;
BEGIN
  SELECT move_state INTO state FROM organizations WHERE id = NEW.org_id FOR KEY SHARE;
  IF state IN ('moving', 'moved') THEN
    RAISE EXCEPTION 'the organization % is being moved', NEW.org_id USING ERRCODE = 'SVMOV';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER api_keys_inserted_while_moving BEFORE INSERT ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER assistants_inserted_while_moving BEFORE INSERT ON assistants FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER batches_inserted_while_moving BEFORE INSERT ON batches FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER bucket_synonyms_inserted_while_moving BEFORE INSERT ON bucket_synonyms FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER buckets_inserted_while_moving BEFORE INSERT ON buckets FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER channel_configs_inserted_while_moving BEFORE INSERT ON channel_configs FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER channel_notifications_inserted_while_moving BEFORE INSERT ON channel_notifications FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER collections_inserted_while_moving BEFORE INSERT ON collections FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER documents_inserted_while_moving BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER files_inserted_while_moving BEFORE INSERT ON files FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER groups_inserted_while_moving BEFORE INSERT ON groups FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER jobs_inserted_while_moving BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER routing_inserted_while_moving BEFORE INSERT ON routing FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER search_judgements_inserted_while_moving BEFORE INSERT ON search_judgements FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER sources_inserted_while_moving BEFORE INSERT ON sources FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER users_inserted_while_moving BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER webhook_endpoints_inserted_while_moving BEFORE INSERT ON webhook_endpoints FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER workflow_runs_inserted_while_moving BEFORE INSERT ON workflow_runs FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER workflow_starts_inserted_while_moving BEFORE INSERT ON workflow_starts FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER workflow_triggers_inserted_while_moving BEFORE INSERT ON workflow_triggers FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER workflows_inserted_while_moving BEFORE INSERT ON workflows FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();

CREATE TRIGGER documents_changed_while_moving
  BEFORE UPDATE OF file_name, collection_id, metadata, privacy_level, classification, review_status, scope,
    internal_accessible, public_accessible, owner_department, access_list ON documents
  FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER documents_deleted_while_moving BEFORE UPDATE OF status ON documents
  FOR EACH ROW WHEN (OLD.status <> 'deleting' AND NEW.status = 'deleting') EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER buckets_changed_while_moving BEFORE UPDATE OF name, policy, deleting_at, engine ON buckets
  FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER api_keys_changed_while_moving
  BEFORE UPDATE OF name, scopes, auth_level, limits, expires_at, revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER users_changed_while_moving BEFORE UPDATE OF role, auth_level, department, suspended_at ON users
  FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
