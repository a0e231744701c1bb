import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import { type Connections, connectionsOf } from './connections.ts';
import { CONFIG_BY_TYPE } from './readers/configs.ts';
import { SOURCE_TYPES } from './schema.ts';

/** Connection that sources of an organization may use, with the schema of their `config`. */
export const ConnectionView = z
  .object({
    name: z.string(),
    type: z.enum(SOURCE_TYPES),
    config_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the field `config` of a source'),
  })
  .meta({ id: 'SourceConnection' });
export type ConnectionView = z.output<typeof ConnectionView>;

/** List the connections that the caller's organization may use, by name. */
export async function listConnections(sql: Sql, connections: Connections, caller: Caller): Promise<ConnectionView[]> {
  const allowed = await connectionsOf(sql, connections, caller.orgId);
  return Object.entries(allowed)
    .map(([name, { type }]) => ({
      name,
      type,
      config_schema: z.toJSONSchema(CONFIG_BY_TYPE[type], { io: 'input', unrepresentable: 'any' }),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
