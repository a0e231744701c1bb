-- minimum-compatible-version: 1
-- Changes of documents that searches find, or found before: a server that holds their facts in memory reads with each
-- search what has changed since its last one. It knows that by a snapshot: every change of a transaction that the snapshot
-- does not contain.
CREATE TABLE document_changes (
  bucket_id   text NOT NULL,
  changed_in  xid8 NOT NULL,               -- transaction
  document_id text NOT NULL
);
CREATE INDEX document_changes_by_bucket ON document_changes (bucket_id, changed_in);

-- Changes of transactions before `kept_from` may have been removed; whoever has an older snapshot reads all facts again.
CREATE TABLE document_change_log (
  id             boolean PRIMARY KEY DEFAULT true CHECK (id),
  kept_from      xid8 NOT NULL,
  next_kept_from xid8 NOT NULL,            -- `kept_from` after the next removal: all transactions before it have ended
  moved_at       timestamptz NOT NULL DEFAULT now()
);
INSERT INTO document_change_log (kept_from, next_kept_from)
SELECT pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmin(pg_current_snapshot());

CREATE FUNCTION note_document_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO document_changes VALUES (OLD.bucket_id, pg_current_xact_id(), OLD.id);
  ELSE
    INSERT INTO document_changes VALUES (NEW.bucket_id, pg_current_xact_id(), NEW.id);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER documents_inserted AFTER INSERT ON documents FOR EACH ROW
  WHEN (NEW.active_generation IS NOT NULL) EXECUTE FUNCTION note_document_change();
CREATE TRIGGER documents_updated AFTER UPDATE ON documents FOR EACH ROW
  WHEN (OLD.active_generation IS NOT NULL OR NEW.active_generation IS NOT NULL) EXECUTE FUNCTION note_document_change();
CREATE TRIGGER documents_deleted AFTER DELETE ON documents FOR EACH ROW
  WHEN (OLD.active_generation IS NOT NULL) EXECUTE FUNCTION note_document_change();

-- What a search needs to know of a document that it may find; null: no search finds it.
CREATE FUNCTION document_facts(document documents) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN document.active_generation IS NOT NULL AND document.searchable AND document.status <> 'deleting' THEN
    jsonb_build_object(
      'id', document.id, 'active_generation', document.active_generation, 'keyword_only', document.keyword_only,
      'collection_id', document.collection_id, 'privacy_level', document.privacy_level, 'scope', document.scope,
      'classification', document.classification, 'public_accessible', document.public_accessible,
      'file_name', document.file_name, 'file_type', document.file_type, 'review_status', document.review_status,
      'owner_department', document.owner_department, 'source_path', document.source_path,
      'metadata', document.metadata)
  END;
$$;

-- Facts of the documents of a bucket that were changed by transactions which a snapshot does not contain: those from `next`
-- on, and those that were in progress. `changed` is null if there are more changes than `most`. Being a function, it does not
-- make PostgreSQL plan the query around it anew each time; it reads the index however small the table was when it was planned.
CREATE FUNCTION document_changes_since(bucket text, next xid8, in_progress xid8[], most integer) RETURNS jsonb
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  ids text[] := ARRAY(
    SELECT document_id FROM document_changes WHERE bucket_id = bucket AND changed_in >= next LIMIT most + 1);
  facts jsonb := '[]';
BEGIN
  IF cardinality(in_progress) > 0 THEN
    ids := ids || ARRAY(
      SELECT document_id FROM document_changes WHERE bucket_id = bucket AND changed_in = ANY(in_progress)
      LIMIT most + 1);
  END IF;
  IF cardinality(ids) > most THEN
    facts := NULL;
  ELSIF cardinality(ids) > 0 THEN
    facts := (
      SELECT jsonb_agg(jsonb_build_array(id, (SELECT document_facts(d) FROM documents d WHERE d.id = changed.id)))
      FROM (SELECT DISTINCT unnest(ids) AS id) AS changed);
  END IF;
  RETURN jsonb_build_object(
    'snapshot', pg_current_snapshot()::text, 'server', extract(epoch FROM pg_postmaster_start_time())::text,
    'kept_from', (SELECT kept_from::text FROM document_change_log), 'changed', facts);
END $$;
