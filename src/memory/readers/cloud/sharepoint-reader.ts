import path from 'node:path';
import { z } from 'zod';
import type { SharePointConnection } from '../../../platform/cloud-source-settings.ts';
import { isLoopbackHost } from '../../../platform/networks.ts';
import { decodePercent } from '../../../platform/percent-encoding.ts';
import { fileNameOf, oneLine } from '../../../platform/printable.ts';
import type { ConfigOf } from '../configs.ts';
import { compileGlobs } from '../globs.ts';
import {
  type EntryFault,
  type EntryReaders,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type ReadEntry,
  rightsVersion,
  SourceFault,
  type SourceReader,
  tooLargeFault,
} from '../source-reader.ts';
import { ApiClient } from './api-client.ts';
import { readEach } from './list-read.ts';
import { keysOf } from './path-names.ts';
import { readSharePointRights } from './sharepoint-rights.ts';

/** Time before expiry at which a token is replaced. */
const SPARE_MS = 300_000;
const ITEMS_MAX = 1_000_000;

const Token = z.object({ access_token: z.string(), expires_in: z.number() });
const Site = z.object({ id: z.string() });
const Drive = z.object({ id: z.string(), name: z.string().optional() });
const Drives = z.object({ value: z.array(Drive) });
const Items = z.object({
  value: z.array(
    z.object({
      id: z.string(),
      name: z.string().optional(),
      size: z.number().optional(),
      cTag: z.string().optional(),
      webUrl: z.string().optional(),
      lastModifiedDateTime: z.iso.datetime({ offset: true }).optional(),
      parentReference: z.object({ path: z.string().optional() }).optional(),
      file: z.object({ mimeType: z.string().optional() }).optional(),
      deleted: z.unknown().optional(),
    }),
  ),
  '@odata.nextLink': z.string().optional(),
});
type Item = z.output<typeof Items>['value'][number];
type FoundItem = Item & { readonly path: string; readonly readers?: EntryReaders | 'everyone' | undefined };

/**
 * Open a SharePoint document library, or a person's OneDrive, as a source, through Microsoft Graph v1.0
 * (learn.microsoft.com/graph/api/driveitem-delta, November 2026). The `cTag` shows whether a file's content changed.
 */
export function openSharePointReader(
  connection: SharePointConnection,
  { library, path: folder, rights = false, ...globs }: ConfigOf<'sharepoint'>,
  bytesMax: number,
): SourceReader {
  const tokens = openTokens(connection);
  const api = new ApiClient({ origin: connection.graphUrl, name: 'Microsoft Graph', authorize: tokens.authorize });
  const { matches } = compileGlobs(globs);
  let found = new Map<string, FoundItem>();
  let driveId = '';
  return {
    async *list(signal) {
      driveId = await findDrive(api, connection, library, signal);
      const items = await listItems(api, driveId, signal);
      const wanted = items.flatMap((item) => {
        const below = pathBelow(item, folder);
        return below === null || !matches(below) ? [] : [{ ...item, path: below }];
      });
      const ids = wanted.map(({ id }) => id);
      const shared = rights ? await readSharePointRights(api, driveId, ids, signal) : null;
      found = keysOf(wanted.map((item) => ({ ...item, readers: shared?.get(item.id) })));
      yield { faults: [], entries: [...found].map(([key, item]) => toListed(key, item)) };
    },
    read: (entries, signal) =>
      readEach(entries, async ({ key, version }) => {
        const item = found.get(key);
        if (item === undefined) throw new SourceFault('source_missing', 'the file is gone');
        return readItem(api, { key, version, item, driveId, bytesMax }, signal);
      }),
    async close() {
      await tokens.close();
      await api.close();
    },
  };
}

/** Exchange an application's secret for tokens (client credentials grant of RFC 6749). */
function openTokens({ loginUrl, tenant, clientId, clientSecret }: SharePointConnection) {
  const client = new ApiClient({ origin: loginUrl, name: 'Microsoft Entra ID', authorize: async () => FORM });
  let token: { readonly header: string; readonly renewAtMs: number } | null = null;
  return {
    async authorize(signal: AbortSignal) {
      if (token === null || performance.now() > token.renewAtMs) {
        const form = new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: clientSecret.reveal(),
          scope: 'https://graph.microsoft.com/.default',
        });
        const reply = await client.postForm(`/${tenant}/oauth2/v2.0/token`, form, Token, signal);
        token = {
          header: `Bearer ${reply.access_token}`,
          renewAtMs: performance.now() + reply.expires_in * 1_000 - SPARE_MS,
        };
      }
      return { authorization: token.header };
    },
    close: () => client.close(),
  };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Find the library of a site or the drive of a person. @throws SourceFault */
async function findDrive(
  api: ApiClient,
  { site, user }: SharePointConnection,
  library: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (site === null) return (await api.get(`/v1.0/users/${encodeURIComponent(user)}/drive`, Drive, signal)).id;
  const { id } = await api.get(`/v1.0/sites/${site}`, Site, signal);
  const at = `/v1.0/sites/${encodeURIComponent(id)}`;
  if (library === undefined) return (await api.get(`${at}/drive`, Drive, signal)).id;
  const { value } = await api.get(`${at}/drives`, Drives, signal);
  const drive = value.find(({ name }) => name === library);
  if (drive !== undefined) return drive.id;
  const names = value.map(({ name }) => name).join(', ');
  throw new SourceFault('source_missing', `the site has no library "${library}"; it has ${names}`);
}

/** List all items of a drive. An item on a later page replaces the same item of an earlier page. */
async function listItems(api: ApiClient, driveId: string, signal: AbortSignal): Promise<Item[]> {
  const items = new Map<string, Item>();
  const seen = new Set<string>();
  for (let next: string | undefined = `/v1.0/drives/${encodeURIComponent(driveId)}/root/delta`; next !== undefined; ) {
    if (seen.has(next) || items.size > ITEMS_MAX) {
      throw new SourceFault(
        'source_too_large',
        `the library has more than ${ITEMS_MAX} items, or its listing does not end`,
      );
    }
    seen.add(next);
    const page: z.output<typeof Items> = await api.get(next, Items, signal);
    for (const item of page.value) {
      if (item.deleted === undefined) items.set(item.id, item);
      else items.delete(item.id);
    }
    const link: string | undefined = page['@odata.nextLink'];
    next = link === undefined ? undefined : new URL(link).pathname + new URL(link).search;
  }
  return [...items.values()].filter(({ file }) => file !== undefined);
}

/** Return the path of a file below a folder of the drive; null if it is outside. */
function pathBelow({ name = '', parentReference }: Item, folder: string): string | null {
  // "/drives/<id>/root:/Folder/Sub", percent-encoded.
  const parent = decodePercent(/root:\/?(.*)$/.exec(parentReference?.path ?? '')?.[1] ?? '');
  const whole = oneLine(parent === '' ? name : `${parent}/${name}`);
  if (folder === '') return whole;
  return whole.startsWith(`${folder}/`) ? whole.slice(folder.length + 1) : null;
}

function toListed(key: string, item: FoundItem): ListedEntry {
  const version = `${item.cTag ?? ''}${rightsVersion(item.readers)}`;
  return { key, version, sizeBytes: item.size ?? 0, eventTimeMs: timeOf(item) };
}

function timeOf({ lastModifiedDateTime: time }: Item): number | null {
  return time === undefined ? null : Date.parse(time);
}

async function readItem(
  api: ApiClient,
  file: { key: string; version: string; item: FoundItem; driveId: string; bytesMax: number },
  signal: AbortSignal,
): Promise<ReadEntry | EntryFault> {
  const { key, version, item, driveId, bytesMax } = file;
  const size = item.size ?? 0;
  const tooLarge = tooLargeFault(key, size, bytesMax);
  if (tooLarge !== null) return tooLarge;
  const about = {
    key,
    version,
    fileName: fileNameOf(path.posix.basename(key)).slice(0, 255),
    contentType: item.file?.mimeType ?? null,
    sourcePath: key.normalize('NFC'),
    metadata: { source_kind: 'sharepoint', ...(item.webUrl === undefined ? {} : { source_url: item.webUrl }) },
    eventTimeMs: timeOf(item),
    readers: item.readers,
  };
  if (size === 0) return { ...about, content: null };
  // The download URL is signed and valid for a few minutes, and gets none of our credentials.
  const place = `/v1.0/drives/${encodeURIComponent(driveId)}/items/${encodeURIComponent(item.id)}/content`;
  const address = await api.locate(place, signal);
  if (address.protocol !== 'https:' && !isLoopbackHost(address.hostname)) {
    return { key, fault: 'Microsoft Graph names an address without https for its content' };
  }
  const store = new ApiClient({ origin: address.origin, name: 'SharePoint', authorize: async () => ({}) });
  const target = address.pathname + address.search;
  if (size > INLINE_BYTES_MAX) {
    return {
      ...about,
      content: { openStream: () => store.open(target, signal).once('close', () => void store.close()) },
    };
  }
  const bytes = await store.bytes(target, INLINE_BYTES_MAX, signal).finally(() => store.close());
  return { ...about, content: bytes.length === 0 ? null : { bytes } };
}
