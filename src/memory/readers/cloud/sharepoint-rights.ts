import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type EntryReaders, SourceFault } from '../source-reader.ts';
import type { ApiClient } from './api-client.ts';

/** Maximum requests per batch (learn.microsoft.com/graph/json-batching, November 2026). */
const BATCH = 20;
/** Maximum attempts at rate-limited requests of a batch, and the longest pause between two. */
const TRIES = 6;
const PAUSE_SECONDS_MAX = 120;

const Identity = z.object({
  id: z.string().optional(),
  email: z.string().optional(),
  displayName: z.string().optional(),
});
const Identities = z.object({
  user: Identity.optional(),
  siteUser: Identity.optional(),
  group: Identity.optional(),
  siteGroup: Identity.optional(),
});
/** `permission` (learn.microsoft.com/graph/api/resources/permission, November 2026). */
const Permission = z.object({
  grantedToV2: Identities.optional(),
  grantedToIdentitiesV2: z.array(Identities).optional(),
  link: z.object({ scope: z.string().optional() }).optional(),
});
type Permission = z.output<typeof Permission>;
const Responses = z.object({
  responses: z.array(
    z.object({
      id: z.string(),
      status: z.int(),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.looseObject({ value: z.array(Permission).optional() }).optional(),
    }),
  ),
});
type Response = z.output<typeof Responses>['responses'][number];

/**
 * Read the readers of items in a drive. A link for the organization or for everyone counts as everyone.
 *
 * @returns readers by item id
 * @throws SourceFault
 */
export async function readSharePointRights(
  api: ApiClient,
  driveId: string,
  itemIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, EntryReaders | 'everyone'>> {
  const readers = new Map<string, EntryReaders | 'everyone'>();
  for (let from = 0; from < itemIds.length; from += BATCH) {
    const replies = await readBatch(api, driveId, itemIds.slice(from, from + BATCH), signal);
    for (const [id, permissions] of replies) readers.set(id, readersOf(permissions));
  }
  return readers;
}

async function readBatch(
  api: ApiClient,
  driveId: string,
  itemIds: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, readonly Permission[]>> {
  const found = new Map<string, readonly Permission[]>();
  for (let attempt = 1; ; attempt++) {
    const missing = itemIds.filter((id) => !found.has(id));
    const { responses } = await api.post('/v1.0/$batch', { requests: missing.map(requestOf) }, Responses, signal);
    const refused = responses.filter((reply) => {
      const id = missing[Number(reply.id)];
      if (id !== undefined && reply.status === 200) found.set(id, reply.body?.value ?? []);
      // The item no longer exists.
      if (id !== undefined && reply.status === 404) found.set(id, []);
      return reply.status !== 200 && reply.status !== 404;
    });
    const fatal = refused.find(({ status }) => status !== 429 && status < 500);
    if (fatal !== undefined) throw faultOf(fatal);
    if (found.size === itemIds.length) return found;
    if (attempt === TRIES) throw faultOf(refused[0]);
    await delay(1_000 * pauseOf(refused, attempt), undefined, { signal });
  }

  function requestOf(itemId: string, nth: number) {
    const place = `/drives/${encodeURIComponent(driveId)}/items/${encodeURIComponent(itemId)}/permissions`;
    return { id: String(nth), method: 'GET', url: place };
  }
}

/** Return how many seconds to wait: as long as the service asks, otherwise increasing with each attempt. */
function pauseOf(refused: readonly Response[], attempt: number): number {
  const asked = refused.map(({ headers = {} }) => Number(headers['Retry-After'] ?? headers['retry-after'] ?? 0));
  return Math.min(Math.max(...asked) || 2 ** attempt, PAUSE_SECONDS_MAX);
}

function faultOf(reply: Response | undefined): SourceFault {
  const status = reply?.status ?? 503;
  const said = `Microsoft Graph answers ${status} for the permissions of a file`;
  if (status === 401 || status === 403) {
    return new SourceFault('source_refused', `${said}; let the application read them, or set rights to false`);
  }
  return new SourceFault('source_unavailable', said, { retryable: true });
}

function readersOf(permissions: readonly Permission[]): EntryReaders | 'everyone' {
  if (permissions.some(({ link }) => link?.scope === 'organization' || link?.scope === 'anonymous')) return 'everyone';
  const granted = permissions.flatMap(({ grantedToV2, grantedToIdentitiesV2 = [] }) => [
    ...(grantedToV2 === undefined ? [] : [grantedToV2]),
    ...grantedToIdentitiesV2,
  ]);
  const people = granted.flatMap(({ user, siteUser }) => user?.email ?? siteUser?.email ?? []);
  // We know a directory group by its id, and a site group by its name.
  const groups = granted.flatMap(({ group, siteGroup }) =>
    [group?.id, group?.displayName, siteGroup?.displayName].filter((name) => name !== undefined),
  );
  return { emails: [...new Set(people)].sort(), groups: [...new Set(groups)].sort() };
}
