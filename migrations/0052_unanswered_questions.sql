-- minimum-compatible-version: 1
-- Questions to channels to which the bucket had no answer: their number by day, and, if the operator allows it, their
-- texts without those who asked.
CREATE TABLE channel_unanswered (
  config_id text    NOT NULL REFERENCES channel_configs (id) ON DELETE CASCADE,
  org_id    text    NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day       date    NOT NULL,  -- in UTC
  questions integer NOT NULL,
  PRIMARY KEY (config_id, day)
);
CREATE INDEX channel_unanswered_by_org ON channel_unanswered (org_id);

CREATE TABLE channel_questions (
  id        text        PRIMARY KEY,
  config_id text        NOT NULL REFERENCES channel_configs (id) ON DELETE CASCADE,
  org_id    text        NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  asked_at  timestamptz NOT NULL,
  question  text        NOT NULL
);
CREATE INDEX channel_questions_listed ON channel_questions (org_id, asked_at DESC, id DESC);
CREATE INDEX channel_questions_by_config ON channel_questions (config_id, asked_at DESC, id DESC);
CREATE INDEX channel_questions_by_time ON channel_questions (asked_at);
