-- Storage that an unfinished batch takes: its input, whose file may be deleted meanwhile, and an upper bound of its
-- output. Zero in rows of earlier releases.
ALTER TABLE batches ADD COLUMN input_bytes bigint NOT NULL DEFAULT 0, ADD COLUMN output_bytes_max bigint NOT NULL DEFAULT 0;
CREATE INDEX batches_open_by_org ON batches (org_id) WHERE ended_at IS NULL;

-- Lists are ordered by id.
CREATE INDEX files_by_id ON files (org_id, id);
CREATE INDEX batches_by_id ON batches (org_id, id);
