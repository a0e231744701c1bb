-- minimum-compatible-version: 1
-- The search log: what was asked, for organizations that keep it, and pairs of a query and a document that a person
-- judged.

-- What an organization keeps of its searches: off, counts or queries. Null: what the operator set (search.log).
ALTER TABLE organizations ADD COLUMN search_log text;

ALTER TABLE search_counts
  ADD COLUMN slow    bigint NOT NULL DEFAULT 0,  -- searches that took a second or longer
  ADD COLUMN took_ms bigint NOT NULL DEFAULT 0;  -- time of all searches

CREATE TABLE search_log (
  id         text        PRIMARY KEY,
  org_id     text        NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  asked_at   timestamptz NOT NULL,
  bucket_ids text[]      NOT NULL,
  query      text        NOT NULL,
  asked_by   text        NOT NULL,  -- kind of caller, never who
  mode       text        NOT NULL,
  took_ms    integer     NOT NULL,
  results    integer     NOT NULL,
  relevance  text,                  -- of the best result; null: it cannot be told
  request_id text,
  opened     text[]      NOT NULL DEFAULT '{}',  -- documents that were opened from the results
  helpful    boolean,
  chunk_id   text                   -- result that the feedback is about
);
CREATE INDEX search_log_listed ON search_log (org_id, asked_at DESC, id DESC);
CREATE INDEX search_log_unanswered ON search_log (org_id, asked_at DESC, id DESC) WHERE results = 0 OR relevance = 'none';
CREATE INDEX search_log_slow ON search_log (org_id, took_ms DESC);
CREATE INDEX search_log_by_time ON search_log (asked_at);

CREATE TABLE search_judgements (
  bucket_id   text        NOT NULL REFERENCES buckets (id) ON DELETE CASCADE,
  query       text        NOT NULL,
  document_id text        NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
  org_id      text        NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  grade       smallint    NOT NULL,  -- 0: does not answer the query, to 3: answers it fully
  judged_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (bucket_id, query, document_id)
);
CREATE INDEX search_judgements_by_document ON search_judgements (document_id);
CREATE INDEX search_judgements_by_org ON search_judgements (org_id);
