-- minimum-compatible-version: 1
-- Sign-in of people to the tool server through their assistants (OAuth 2.1). The installation is the authorization
-- server.

-- Clients that registered themselves (RFC 7591). Clients with a metadata document have no row.
CREATE TABLE oauth_clients (
  id            text PRIMARY KEY,
  name          text NOT NULL,
  redirect_uris text[] NOT NULL,
  auth_method   text NOT NULL,             -- none, client_secret_basic or client_secret_post
  secret_hash   bytea,                     -- HMAC-SHA-256 of the secret; null for a public client
  created_at    timestamptz NOT NULL DEFAULT now(),
  is_used       boolean NOT NULL DEFAULT false
);
CREATE INDEX oauth_clients_unused ON oauth_clients (created_at) WHERE NOT is_used;

-- Access that a person gave to a client. It acts for a key, for a user, or else for the operator, as a session does.
CREATE TABLE oauth_grants (
  id              text PRIMARY KEY,
  org_id          text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  actor           text NOT NULL,           -- person who gave it
  key_id          text,
  user_id         text,
  token_id        text,
  generation      integer NOT NULL,
  client_id       text NOT NULL,
  client_name     text NOT NULL,
  redirect_uri    text NOT NULL,
  resource        text NOT NULL,           -- audience of its tokens: address of the tool server
  scopes          text[] NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  expires_at      timestamptz NOT NULL,
  last_used_at    timestamptz,
  code_hash       bytea NOT NULL UNIQUE,   -- HMAC-SHA-256 of the authorization code
  code_challenge  text NOT NULL,
  code_expires_at timestamptz NOT NULL,
  code_is_used    boolean NOT NULL DEFAULT false
);
CREATE INDEX oauth_grants_by_actor ON oauth_grants (org_id, actor, created_at);
CREATE INDEX oauth_grants_by_expiry ON oauth_grants (expires_at);

CREATE TABLE oauth_tokens (
  hash       bytea PRIMARY KEY,            -- HMAC-SHA-256 of the token
  grant_id   text NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
  kind       text NOT NULL CHECK (kind IN ('access', 'refresh')),
  scopes     text[] NOT NULL,
  expires_at timestamptz NOT NULL,
  is_used    boolean NOT NULL DEFAULT false -- true for a refresh token that was exchanged
);
CREATE INDEX oauth_tokens_by_grant ON oauth_tokens (grant_id);
CREATE INDEX oauth_tokens_by_expiry ON oauth_tokens (expires_at);
