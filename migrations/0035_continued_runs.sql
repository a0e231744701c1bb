-- minimum-compatible-version: 1
-- Run that waited for approvals, from which this one goes on; it is continued by one other run at most. It may be deleted
-- before this one, since it is older.
ALTER TABLE workflow_runs ADD COLUMN continues text;
CREATE UNIQUE INDEX workflow_runs_by_continued ON workflow_runs (continues) WHERE continues IS NOT NULL;
