-- Every claim asks whether a job waits that lost its lease before; without this it would read the whole queue.
CREATE INDEX jobs_suspect ON jobs (kind) WHERE status = 'queued' AND crash_count > 0;
-- What `jobs watch` and `top` ask every second: what finished lately.
CREATE INDEX jobs_by_completion ON jobs (completed_at) WHERE completed_at IS NOT NULL;
