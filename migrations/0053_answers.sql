-- minimum-compatible-version: 49
-- Answers of a chat model, the assistants that give them, and their usage.

ALTER TABLE usage_counters DROP CONSTRAINT usage_counters_axis_check,
  ADD CONSTRAINT usage_counters_axis_check CHECK (axis IN ('embed', 'embed_batch', 'embed_image', 'answers'));
ALTER TABLE usage_ledger DROP CONSTRAINT usage_ledger_axis_check,
  ADD CONSTRAINT usage_ledger_axis_check CHECK (axis IN ('embed', 'embed_batch', 'embed_image', 'answers'));
-- Tokens that a chat model wrote. Those that it read are in tokens.
ALTER TABLE usage_ledger ADD COLUMN output_tokens bigint NOT NULL DEFAULT 0;

-- Named ways to answer questions: buckets, conditions, and instructions.
CREATE TABLE assistants (
  id         text PRIMARY KEY,
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name       text NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (org_id, name)
);

-- Answers that are kept for a while, each for the caller who asked.
CREATE TABLE answers (
  id           text PRIMARY KEY,
  org_id       text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  actor        text NOT NULL,
  answer       jsonb NOT NULL,
  document_ids text[] NOT NULL,            -- documents whose text the answer shows
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  rating       text CHECK (rating IN ('up', 'down')),
  reason       text,                       -- of the rating, in the words of the caller
  rated_at     timestamptz
);
CREATE INDEX answers_by_expiry ON answers (expires_at);
CREATE INDEX answers_by_rating ON answers (org_id, rated_at) WHERE rating IS NOT NULL;
CREATE INDEX answers_by_document ON answers USING gin (document_ids);
