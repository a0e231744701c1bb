-- minimum-compatible-version: 1
-- Hard deletes: jobs that remove documents with all that was made of them.
ALTER TABLE jobs DROP CONSTRAINT jobs_kind_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_kind_check CHECK (kind IN ('ingest', 'bulk', 'hard_delete'));

-- The hard delete that a document waits for: one that fails leaves it to whoever removes what is marked as deleted.
ALTER TABLE documents ADD COLUMN hard_delete_job_id text;
CREATE INDEX documents_by_hard_delete ON documents (hard_delete_job_id) WHERE hard_delete_job_id IS NOT NULL;
