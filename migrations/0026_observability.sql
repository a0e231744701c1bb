-- minimum-compatible-version: 1
-- Files of rows, and rows that are not in the keyword index yet, at the last commit; null in rows of earlier versions.
ALTER TABLE index_tables ADD COLUMN fragments integer;
ALTER TABLE index_tables ADD COLUMN unindexed_rows bigint;

-- Request that queued the job, and its place in a trace (header traceparent of W3C Trace Context); null where unknown.
ALTER TABLE jobs ADD COLUMN request_id text;
ALTER TABLE jobs ADD COLUMN trace_parent text;
