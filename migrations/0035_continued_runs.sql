-- minimum-compatible-version: 1
-- A run that waited for approvals is continued by one other run at most.
ALTER TABLE workflow_runs ADD COLUMN continues text REFERENCES workflow_runs (id) ON DELETE SET NULL;
CREATE UNIQUE INDEX workflow_runs_by_continued ON workflow_runs (continues) WHERE continues IS NOT NULL;
