-- minimum-compatible-version: 1
-- Accounts of people who sign in with a password or a passkey. An account belongs to the installation, and has at most
-- one user in each organization.

CREATE TABLE accounts (
  id            text PRIMARY KEY,
  email         text NOT NULL,             -- not unique: nobody has confirmed that it is the person's address
  password_hash text NOT NULL,             -- argon2id, in the PHC string format
  created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX accounts_by_email ON accounts (email);

-- No foreign key: tables are restored in the order of their creation. Only accounts without users are deleted.
ALTER TABLE users ADD COLUMN account_id text;
CREATE UNIQUE INDEX users_by_account ON users (account_id, org_id);

CREATE TABLE passkeys (
  id           text PRIMARY KEY,           -- id of the credential, in base64url
  account_id   text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name         text NOT NULL,
  public_key   bytea NOT NULL,             -- COSE key (RFC 9052)
  counter      bigint NOT NULL,            -- of signatures; 0 for authenticators that do not count
  transports   text[] NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX passkeys_by_account ON passkeys (account_id);

-- Links by which a person sets a new password.
CREATE TABLE password_resets (
  hash       bytea PRIMARY KEY,            -- HMAC-SHA-256 of the token in the link
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  org_id     text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_by_account ON password_resets (account_id);

-- True for a session that began with a password or a passkey. No other one may manage the account of its user: an
-- administrator can make a token of a user, who may belong to further organizations.
ALTER TABLE sessions ADD COLUMN is_of_account boolean NOT NULL DEFAULT false;
