-- minimum-compatible-version: 1
-- State of the calibration that runs by itself, for models without a map in use. A model that got its map has no row.

CREATE TABLE model_calibrations (
  model            text PRIMARY KEY,           -- id in the catalog
  revision         text NOT NULL,
  native_dimension integer NOT NULL,
  -- wanted: used for the first time; calibrating: its texts are embedded or its map is fitted; apart: its map did not
  -- pass the quality gate; failed: its provider did not answer, or the fit was refused
  state            text NOT NULL CHECK (state IN ('wanted', 'calibrating', 'apart', 'failed')),
  texts_done       integer NOT NULL DEFAULT 0,
  texts_total      integer NOT NULL DEFAULT 0,
  score            double precision,           -- of the map that did not pass
  reason           text,
  attempts         integer NOT NULL DEFAULT 0, -- failed ones in a row
  retry_at         timestamptz,
  updated_at       timestamptz NOT NULL DEFAULT now()
);

-- A document that could not be embedded is found by its words meanwhile: its generation has no vectors.
ALTER TABLE documents ADD COLUMN keyword_only boolean NOT NULL DEFAULT false;
ALTER TABLE documents ADD COLUMN error_message text;   -- reason of the status failed
CREATE INDEX documents_keyword_only ON documents (bucket_id) WHERE keyword_only;
