-- minimum-compatible-version: 1
-- Refuse more changes of an organization that is being moved: those of rights, secrets and settings that 0062 left to
-- the API. A request or command that began before the move could still commit after the export had read the rows.

CREATE FUNCTION refuse_change_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  state text;
BEGIN
  SELECT move_state INTO state FROM organizations WHERE id = OLD.org_id FOR KEY SHARE;
  -- An organization that has moved may be deleted.
  IF state = 'moving' THEN
    RAISE EXCEPTION 'the organization % is being moved', OLD.org_id USING ERRCODE = 'SVMOV';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RETURN NEW;
END $$;

-- Columns that the service itself writes are left out: progress, failures, times and counts.
CREATE TRIGGER group_members_inserted_while_moving BEFORE INSERT ON group_members FOR EACH ROW EXECUTE FUNCTION refuse_while_moving();
CREATE TRIGGER assistants_changed_while_moving BEFORE UPDATE ON assistants FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER bucket_synonyms_changed_while_moving BEFORE UPDATE ON bucket_synonyms FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER channel_configs_changed_while_moving BEFORE UPDATE ON channel_configs FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER collections_changed_while_moving BEFORE UPDATE ON collections FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER group_members_changed_while_moving BEFORE UPDATE ON group_members FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER groups_changed_while_moving BEFORE UPDATE ON groups FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER routing_changed_while_moving BEFORE UPDATE ON routing FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER search_judgements_changed_while_moving BEFORE UPDATE ON search_judgements FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER sources_changed_while_moving BEFORE UPDATE OF name, connection, config, tags, versions, privacy_level, schedule, paused_at, access_list ON sources
  FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER users_identified_while_moving
  BEFORE UPDATE OF email, external_id, deprovisioned_at, oidc_issuer, oidc_subject, account_id, token_generation, tokens_revoked_at ON users
  FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER webhook_endpoints_changed_while_moving BEFORE UPDATE OF name, url, events, sealed_secret ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER workflow_triggers_changed_while_moving BEFORE UPDATE OF kind, mode, schedule, bucket_id, sealed_secret, actor ON workflow_triggers
  FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER workflows_changed_while_moving BEFORE UPDATE ON workflows FOR EACH ROW EXECUTE FUNCTION refuse_change_while_moving();

-- Rows that go with a row that they refer to are not refused: the deletion of that row is, or a chore deletes it.
CREATE TRIGGER assistants_deleted_while_moving BEFORE DELETE ON assistants FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER bucket_synonyms_deleted_while_moving BEFORE DELETE ON bucket_synonyms FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER channel_configs_deleted_while_moving BEFORE DELETE ON channel_configs FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER collections_deleted_while_moving BEFORE DELETE ON collections FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER group_members_deleted_while_moving BEFORE DELETE ON group_members FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER groups_deleted_while_moving BEFORE DELETE ON groups FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER routing_deleted_while_moving BEFORE DELETE ON routing FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER search_judgements_deleted_while_moving BEFORE DELETE ON search_judgements FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER sources_deleted_while_moving BEFORE DELETE ON sources FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER users_deleted_while_moving BEFORE DELETE ON users FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER webhook_endpoints_deleted_while_moving BEFORE DELETE ON webhook_endpoints FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER workflow_triggers_deleted_while_moving BEFORE DELETE ON workflow_triggers FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
CREATE TRIGGER workflows_deleted_while_moving BEFORE DELETE ON workflows FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change_while_moving();
-- A chore deletes expired files of all organizations in one statement.
CREATE TRIGGER files_deleted_while_moving BEFORE DELETE ON files
  FOR EACH ROW WHEN (OLD.expires_at IS NULL OR OLD.expires_at > now()) EXECUTE FUNCTION refuse_change_while_moving();
