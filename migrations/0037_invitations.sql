-- minimum-compatible-version: 1
-- Invitations by which a person connects an identity at the OIDC issuer with a user.
CREATE TABLE invitations (
  hash       bytea PRIMARY KEY,            -- HMAC-SHA-256 of the token in the link
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  invited_by text NOT NULL,                -- actor
  expires_at timestamptz NOT NULL
);
CREATE INDEX invitations_by_user ON invitations (org_id, user_id);

-- States of sign-ins that have come back from the OIDC issuer, each of which counts once.
CREATE TABLE used_sign_ins (
  hash       bytea PRIMARY KEY,            -- SHA-256 of the state
  expires_at timestamptz NOT NULL
);
