-- minimum-compatible-version: 1
-- Synonyms of a bucket, by which the keyword leg expands queries.
CREATE TABLE bucket_synonyms (
  bucket_id  text PRIMARY KEY REFERENCES buckets (id) ON DELETE CASCADE,
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  edit_id    text NOT NULL,                -- differs after each edit, so that processes know what they have read
  groups     jsonb NOT NULL,               -- lists of words and phrases that mean the same
  updated_at timestamptz NOT NULL DEFAULT now()
);
