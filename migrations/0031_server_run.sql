-- minimum-compatible-version: 1
-- Run of the server: a random id, which a copy of documents in memory keeps with its snapshot. After a crash PostgreSQL uses
-- the numbers of lost transactions again, also where its first process, and with it its time of start, stays. Then it
-- empties unlogged tables, as it does when a standby is promoted. Whoever finds the table empty fills it again.
CREATE UNLOGGED TABLE server_run (
  id  boolean PRIMARY KEY DEFAULT true CHECK (id),
  run uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO server_run DEFAULT VALUES;

-- As in migration 27, with the run; null: the table is empty.
CREATE OR REPLACE FUNCTION document_changes_since(bucket text, next xid8, in_progress xid8[], most integer) RETURNS jsonb
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
    'run', (SELECT run FROM server_run),
    'kept_from', (SELECT kept_from::text FROM document_change_log), 'changed', facts);
END $$;
