-- Every claim asks whether a job waits that lost its lease before; without this it would read the whole queue.
CREATE INDEX jobs_suspect ON jobs (kind) WHERE status = 'queued' AND crash_count > 0;
