import { selectOrganization } from '../access/organization-store.ts';
import type { Sql } from '../platform/postgres.ts';
import { type ConnectionSettings, mayUse } from '../platform/source-settings.ts';

/** Connections that the operator's settings allow, by name. */
export type Connections = Readonly<Record<string, ConnectionSettings>>;

/**
 * Select the connections that sources of an organization may use. Other connections, and even their names, stay hidden
 * from the organization.
 */
export async function connectionsOf(sql: Sql, connections: Connections, orgId: string): Promise<Connections> {
  const organization = await selectOrganization(sql, orgId);
  if (organization === null) return {};
  return Object.fromEntries(
    Object.entries(connections).filter(([, connection]) => mayUse(connection, organization.name)),
  );
}

/** Return a connection that sources of an organization may use, or null if there is none of this name. */
export async function findConnection(
  sql: Sql,
  connections: Connections,
  { orgId, connection: name }: { readonly orgId: string; readonly connection: string },
): Promise<ConnectionSettings | null> {
  const allowed = await connectionsOf(sql, connections, orgId);
  return Object.hasOwn(allowed, name) ? (allowed[name] as ConnectionSettings) : null;
}
