-- minimum-compatible-version: 49
-- Vector stores in the shape of OpenAI's API. A vector store is a bucket, and its files are the documents of the bucket.

ALTER TABLE files ADD COLUMN sha256 bytea;  -- null for files of earlier releases

-- A document that was made from a file shares the bytes of the file.
CREATE INDEX documents_by_file ON documents (object_key) WHERE object_key LIKE 'files/%';

-- Fields of a vector store that its bucket does not have. A bucket has no row until one of them is set.
CREATE TABLE vector_stores (
  bucket_id      text PRIMARY KEY REFERENCES buckets (id) ON DELETE CASCADE,
  is_own         boolean NOT NULL,         -- made as a vector store, so that it may expire and keys may delete it
  name           text,                     -- null: that of the bucket
  description    text,
  metadata       jsonb NOT NULL DEFAULT '{}',
  expires_days   integer,                  -- days without activity after which it expires; null: never
  last_active_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX vector_stores_by_expiry ON vector_stores (last_active_at) WHERE expires_days IS NOT NULL;

-- Files of vector stores whose id is not that of their document, or whose attributes have types. A row outlives its
-- document for some time, since clients name the last file of a page after they have removed it.
CREATE TABLE vector_store_files (
  bucket_id   text NOT NULL REFERENCES buckets (id) ON DELETE CASCADE,
  file_id     text NOT NULL,
  document_id text NOT NULL,
  scalars     jsonb NOT NULL DEFAULT '{}', -- numbers and booleans of the attributes, which metadata has as text
  removed_at  timestamptz,                 -- the document is gone
  PRIMARY KEY (bucket_id, file_id)
);
CREATE UNIQUE INDEX vector_store_files_by_document ON vector_store_files (document_id);
CREATE INDEX vector_store_files_removed ON vector_store_files (removed_at) WHERE removed_at IS NOT NULL;

-- Files that were added to a vector store together.
CREATE TABLE vector_store_batches (
  id           text PRIMARY KEY,
  bucket_id    text NOT NULL REFERENCES buckets (id) ON DELETE CASCADE,
  document_ids text[] NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  cancelled_at timestamptz
);
CREATE INDEX vector_store_batches_by_age ON vector_store_batches (created_at);
CREATE INDEX vector_store_batches_by_bucket ON vector_store_batches (bucket_id);
