-- minimum-compatible-version: 1
-- Chunk artifacts keep the vectors as the model gave them, so that a bucket can be moved to another map, or into
-- another latent space, without asking any provider.

ALTER TABLE generations
  ADD COLUMN embed_revision   text,      -- revision of embed_model; null: not recorded
  ADD COLUMN map_version      bigint,    -- the map that its vectors went through; null: uncalibrated
  ADD COLUMN native_dimension integer,   -- length of the native vectors in its artifact; null: it has none
  ADD COLUMN replaces         bigint;    -- the generation that it was projected anew from; null: written by an ingest job

-- The LanceDB table of a bucket has the bucket's id for a name, until another one takes its place.
ALTER TABLE index_tables ADD COLUMN table_name text;

-- A bucket whose vectors are being projected anew. Generations of the run carry its id as their job_id, and are kept
-- from the sweep while it shows signs of life.
CREATE TABLE reprojections (
  id         text PRIMARY KEY,
  bucket_id  text NOT NULL UNIQUE,
  table_name text,                       -- the table that will take the place of the bucket's; null: rows go to that one
  space      text NOT NULL,
  touched_at timestamptz NOT NULL DEFAULT now()
);

-- Tables that nothing looks into any more, kept for a while for searches that are still at it.
CREATE TABLE retired_index_tables (
  table_name text PRIMARY KEY,
  bucket_id  text NOT NULL,
  retired_at timestamptz NOT NULL DEFAULT now()
);
