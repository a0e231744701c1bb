-- minimum-compatible-version: 1
-- Sessions of browsers, and the links by which the operator signs in once.

-- A session acts for a key, a user, or the operator of an organization; its rights are read from their records at each
-- request. Only the keyed hash of its id is stored.
CREATE TABLE sessions (
  id           text PRIMARY KEY,           -- public name, for the audit log
  hash         bytea NOT NULL UNIQUE,      -- HMAC-SHA-256 of the secret id in the cookie
  org_id       text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  actor        text NOT NULL,              -- key:<id>, user:<id>, operator:<os user>
  key_id       text REFERENCES api_keys (id) ON DELETE CASCADE,
  user_id      text REFERENCES users (id) ON DELETE CASCADE,
  token_id     text,                       -- of the token that it was made of, which can be revoked by itself
  generation   integer NOT NULL DEFAULT 0, -- of the user's tokens when it was made
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL
);
CREATE INDEX sessions_by_actor ON sessions (org_id, actor, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE sign_in_links (
  hash       bytea PRIMARY KEY,            -- HMAC-SHA-256 of the token in the link
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  actor      text NOT NULL,
  expires_at timestamptz NOT NULL
);
