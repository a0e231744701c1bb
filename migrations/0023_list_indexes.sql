-- minimum-compatible-version: 1
-- Indexes by which a page of each list is read from its first row on, without the rows of other states, buckets and
-- organizations, and by which counts are read without the rows themselves.

-- The level at the end lets the index itself leave out documents above the level of the caller.
CREATE INDEX documents_listed ON documents (bucket_id, id DESC, privacy_level);
DROP INDEX documents_by_bucket;
CREATE INDEX documents_by_status ON documents (bucket_id, status, id DESC, privacy_level) INCLUDE (scope);
-- Counts and sums of an organization, by state.
CREATE INDEX documents_counted ON documents (org_id, status, privacy_level) INCLUDE (scope, size_bytes, keyword_only);
DROP INDEX documents_by_size;
-- Documents of a source that can be found, which lists of sources count.
CREATE INDEX documents_found_of_source ON documents (source_id, privacy_level) INCLUDE (status, scope, active_generation)
  WHERE source_id IS NOT NULL AND active_generation IS NOT NULL;

-- The bucket at the end lets the index itself leave out jobs of other buckets.
CREATE INDEX jobs_by_status ON jobs (org_id, status, created_at DESC, id DESC, bucket_id);
CREATE INDEX jobs_of_bucket ON jobs (bucket_id, created_at DESC, id DESC);
DROP INDEX jobs_by_bucket;
CREATE INDEX jobs_by_end ON jobs (org_id, status, completed_at DESC, id DESC) WHERE completed_at IS NOT NULL;

CREATE INDEX api_keys_listed ON api_keys (org_id, created_at DESC, id DESC);
DROP INDEX api_keys_by_org;
CREATE INDEX users_listed ON users (org_id, id DESC);
CREATE INDEX channel_notifications_listed ON channel_notifications (org_id, requested_at DESC, id DESC);
DROP INDEX channel_notifications_by_org;
CREATE INDEX channel_notifications_by_config ON channel_notifications (org_id, config_id, requested_at DESC, id DESC);
CREATE INDEX workflow_runs_listed ON workflow_runs (org_id, started_at DESC, id DESC);
