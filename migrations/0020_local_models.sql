-- Models that run on the hosts of this installation. Their files are in the data directory of each host, by revision.
CREATE TABLE local_models (
  name text PRIMARY KEY CHECK (name ~ '^local/[a-z0-9][a-z0-9._-]{0,63}$'),
  revision text NOT NULL,
  -- What the program needs to run it (src/local-models/schema.ts).
  spec jsonb NOT NULL,
  installed_at timestamptz NOT NULL DEFAULT now()
);

-- Weights of the legs of a search that were tuned for the vectors of one latent space:
-- {"space": "canon-v1", "keyword": 1, "vector": 0.5}. Null: those of the kind of the model.
ALTER TABLE index_tables ADD COLUMN leg_weights jsonb;
