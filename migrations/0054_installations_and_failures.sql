-- minimum-compatible-version: 1
-- Installations of local models that operators started in the console. A row leaves when its model is installed, or when
-- the installation was cancelled.
CREATE TABLE model_installations (
  name          text PRIMARY KEY,            -- of the model: local/NAME
  run_id        text NOT NULL,               -- of the process that works on it
  source        text NOT NULL,               -- hub id or folder
  state         text NOT NULL CHECK (state IN ('running', 'cancelling', 'failed')),
  phase         text NOT NULL DEFAULT 'fetching' CHECK (phase IN ('fetching', 'testing', 'sharing')),
  done_bytes    bigint NOT NULL DEFAULT 0,
  total_bytes   bigint NOT NULL DEFAULT 0,
  error_code    text,
  error_message text,
  started_by    text NOT NULL,
  started_at    timestamptz NOT NULL DEFAULT now(),
  updated_at    timestamptz NOT NULL DEFAULT now()   -- a running one writes it every second
);

-- Category of the failure in error_message, by which the console translates it; null for a failure of an earlier version.
ALTER TABLE sources ADD COLUMN error_category text;
