-- minimum-compatible-version: 1

-- Text of deleted documents stays in the files of an index until they are rewritten: times of the first and the last
-- deletion since then. Null: nothing was deleted.
ALTER TABLE index_tables ADD COLUMN deleted_since timestamptz;
ALTER TABLE index_tables ADD COLUMN deleted_last timestamptz;

-- True while searches find the content before the present one, since the job of that has not finished.
ALTER TABLE documents ADD COLUMN content_pending boolean NOT NULL DEFAULT false;
