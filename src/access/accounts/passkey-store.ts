import type { Sql } from '../../platform/postgres.ts';

export interface Passkey {
  /** Id of the credential, in base64url. */
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** COSE key. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

interface PasskeyRow {
  id: string;
  account_id: string;
  name: string;
  public_key: Uint8Array;
  counter: string;
  transports: string[];
  created_at: Date;
  last_used_at: Date | null;
}

function toPasskey(row: PasskeyRow): Passkey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    publicKey: Uint8Array.from(row.public_key),
    counter: Number(row.counter),
    transports: row.transports,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}

/** Insert a passkey. Return false if its id exists already. */
export async function insertPasskey(sql: Sql, passkey: Omit<Passkey, 'createdAt' | 'lastUsedAt'>): Promise<boolean> {
  const { id, accountId, name, publicKey, counter, transports } = passkey;
  const { count } = await sql`
    INSERT INTO passkeys (id, account_id, name, public_key, counter, transports)
    VALUES (${id}, ${accountId}, ${name}, ${publicKey}, ${counter}, ${sql.array([...transports])}::text[])
    ON CONFLICT DO NOTHING`;
  return count === 1;
}

/** Select a passkey by id alone, since its account isn't known yet. */
export async function selectPasskey(sql: Sql, id: string): Promise<Passkey | null> {
  const [row] = await sql<PasskeyRow[]>`SELECT * FROM passkeys WHERE id = ${id}`;
  return row ? toPasskey(row) : null;
}

export async function selectPasskeys(sql: Sql, accountId: string): Promise<Passkey[]> {
  const rows = await sql<PasskeyRow[]>`SELECT * FROM passkeys WHERE account_id = ${accountId} ORDER BY created_at, id`;
  return rows.map(toPasskey);
}

/** Return true if the installation has any passkey. */
export async function hasPasskeys(sql: Sql): Promise<boolean> {
  return (await sql`SELECT 1 FROM passkeys LIMIT 1`).length > 0;
}

export async function updatePasskeyUse(sql: Sql, id: string, counter: number): Promise<void> {
  await sql`UPDATE passkeys SET counter = ${counter}, last_used_at = now() WHERE id = ${id}`;
}

/** Delete a passkey of an account. Return false if there is none. */
export async function deletePasskey(sql: Sql, accountId: string, id: string): Promise<boolean> {
  return (await sql`DELETE FROM passkeys WHERE account_id = ${accountId} AND id = ${id}`).count === 1;
}

export async function deletePasskeys(sql: Sql, accountId: string): Promise<void> {
  await sql`DELETE FROM passkeys WHERE account_id = ${accountId}`;
}
