-- minimum-compatible-version: 1
-- Figures of the overview: searches by day, documents by day, and runs that wait for an approval.

-- Searches that were answered, summed up by UTC day and bucket.
CREATE TABLE search_counts (
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day        date NOT NULL,
  bucket_id  text NOT NULL,                -- '' for a search of several buckets
  searches   bigint NOT NULL,
  unanswered bigint NOT NULL,              -- those without a result that seems to answer the query
  PRIMARY KEY (org_id, day, bucket_id)
);

CREATE INDEX documents_by_day ON documents (org_id, created_at) INCLUDE (status, privacy_level, scope);

CREATE INDEX workflow_runs_waiting ON workflow_runs (org_id, started_at DESC, id DESC) WHERE status = 'needs_approval';
