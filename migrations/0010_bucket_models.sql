-- minimum-compatible-version: 1
-- The model that the vectors of a bucket's index were embedded with. Queries and uploads of the bucket use it, whatever
-- the routing of the organization says.

ALTER TABLE index_tables ADD COLUMN model text;      -- id in the catalog; null while the index is empty
ALTER TABLE index_tables ADD COLUMN revision text;   -- of the model; null where it was not recorded

UPDATE index_tables SET (model, revision) = (
  SELECT generations.embed_model, max(generations.embed_revision)
  FROM documents JOIN generations ON generations.id = documents.active_generation
  WHERE documents.bucket_id = index_tables.bucket_id AND generations.space = index_tables.space
  GROUP BY generations.embed_model ORDER BY sum(generations.chunks_count) DESC LIMIT 1)
WHERE space IS NOT NULL;

-- A run that builds a new table for the index of a bucket: from the stored vectors as they are (rebuild), by other maps
-- (reproject), or by another model (reembed).
ALTER TABLE reprojections ADD COLUMN kind text NOT NULL DEFAULT 'reproject';
ALTER TABLE reprojections ADD COLUMN model text;              -- that queries and uploads of the bucket use afterwards
ALTER TABLE reprojections ADD COLUMN revision text;
ALTER TABLE reprojections ADD COLUMN job_id text;             -- null: run by a command
ALTER TABLE reprojections ADD COLUMN chunks_done integer NOT NULL DEFAULT 0;
ALTER TABLE reprojections ADD COLUMN chunks_total integer NOT NULL DEFAULT 0;
-- Until then no job makes a document of the bucket live, so that the run can catch up.
ALTER TABLE reprojections ADD COLUMN closing_until timestamptz;

-- The generation that an edit took out of search: its stored vectors are used again by the job that reindexes it.
ALTER TABLE documents ADD COLUMN stored_generation bigint;

ALTER TABLE jobs DROP CONSTRAINT jobs_kind_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_kind_check CHECK (kind IN ('ingest', 'bulk', 'hard_delete', 'reindex'));
