-- minimum-compatible-version: 1
-- Last sign of life of a process that runs the chores, so that it is noticed if none does. One row at most.

CREATE TABLE reaper_runs (
  id       boolean PRIMARY KEY DEFAULT true CHECK (id),
  every_ms bigint NOT NULL,           -- time until the next sign
  ran_at   timestamptz NOT NULL
);
