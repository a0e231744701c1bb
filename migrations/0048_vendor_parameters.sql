-- minimum-compatible-version: 1
-- Parameters and secrets of vendors besides an address and a key, such as a region and an access key of AWS.
ALTER TABLE vendors
  ADD COLUMN parameters         jsonb NOT NULL DEFAULT '{}',  -- api_version, region, credentials, project, location
  ADD COLUMN sealed_credentials bytea;                        -- AES-256-GCM of JSON; null for a vendor with only a key
