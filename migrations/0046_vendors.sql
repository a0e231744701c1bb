-- minimum-compatible-version: 1
-- Vendors of models that an operator added in the console, beside those of the settings file.
CREATE TABLE vendors (
  name           text PRIMARY KEY,
  protocol       text NOT NULL,
  base_url       text NOT NULL,
  sealed_api_key bytea,                    -- AES-256-GCM; null for a server without keys
  -- Models outside the catalog that the vendor serves: [{"id", "dimensions", "max_tokens"}].
  models         jsonb NOT NULL,
  added_by       text NOT NULL,
  added_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
