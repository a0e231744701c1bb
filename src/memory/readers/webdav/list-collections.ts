import { percentDecoded } from '../../../platform/percent-encoding.ts';
import { compileGlobs, type Globs } from '../globs.ts';
import {
  controlFault,
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type Listing,
  longKeyFault,
  SourceFault,
  withoutControl,
} from '../source-reader.ts';
import type { DavClient } from './dav-client.ts';
import { entryReason, isGone, replyFault, toDavFault } from './dav-faults.ts';
import { type DavResource, readMultistatus } from './multistatus.ts';
import { encodePath, isSamePath, partsOf } from './paths.ts';

const FOLDERS_MAX = 100_000;
const DEPTH_MAX = 100;
/** Maximum number of files and folders, including those that the patterns exclude. */
const RESOURCES_MAX = 1_100_000;

export interface CollectionTree {
  /** Decoded path of the top folder, in parts. */
  readonly base: readonly string[];
  readonly globs: Globs;
  /** Maximum number of folders; lower in tests. */
  readonly foldersMax?: number;
}

/**
 * List the files of a folder tree, one folder per request (`Depth: 1`, since many servers refuse `infinity`).
 *
 * @throws SourceFault if the top folder can't be listed or the tree never ends
 */
export async function* listTree(
  client: DavClient,
  { base, globs, foldersMax = FOLDERS_MAX }: CollectionTree,
  signal: AbortSignal,
): AsyncGenerator<Listing, void> {
  const compiled = compileGlobs(globs);
  const pending = [''];
  const seen = new Set(pending);
  let resources = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for await (const children of listFolder(client, base, folder, signal)) {
      if (!Array.isArray(children)) {
        yield { entries: [], faults: [children] };
        continue;
      }
      resources += children.length;
      const sorted = sortOut(children, folder, compiled);
      for (const each of sorted.folders) if (!seen.has(each)) pending.push(each);
      for (const each of sorted.folders) seen.add(each);
      if (seen.size > foldersMax || resources > RESOURCES_MAX) {
        const message = `${client.placeOf(encodePath(base, true))} has too many folders or files, or grows without end`;
        throw new SourceFault('source_too_large', `${message}; narrow the source by path or exclude`);
      }
      yield sorted;
    }
  }
}

interface Child extends DavResource {
  /** Decoded name; null if it isn't UTF-8. */
  readonly name: string | null;
  /** Name to show in messages. */
  readonly shown: string;
}

/** List the children of a folder as they arrive, or report its fault. A missing folder has no children. */
async function* listFolder(
  client: DavClient,
  base: readonly string[],
  folder: string,
  signal: AbortSignal,
): AsyncGenerator<Child[] | EntryFault, void> {
  const parts = folder === '' ? base : [...base, ...folder.split('/')];
  const path = encodePath(parts, true);
  const place = client.placeOf(path);
  const reply = await client.send('PROPFIND', path, signal);
  if (reply.status !== 207) {
    // One of several storages behind a server may be unavailable (Nextcloud).
    const reason = reply.status === 503 ? 'it is not available now (503)' : entryReason(reply.status);
    if (folder === '' || (reason === null && !isGone(reply.status))) throw await replyFault(reply, place);
    await reply.body.dump();
    if (!isGone(reply.status)) yield { key: folder, isFolder: true, fault: reason ?? '' };
    return;
  }
  const own = partsOf(reply.path);
  try {
    for await (const resources of readMultistatus(reply.body, place)) {
      const self = resources.find(({ href }) => isSamePath(partsOf(href), own));
      if (folder === '' && self?.status === null && !self.isCollection) {
        throw new SourceFault('source_missing', `${place} is no folder; check url and path`);
      }
      yield resources.flatMap((resource) => childOf(resource, own) ?? []);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw toDavFault(error, place);
  }
}

/** Convert a resource to a child of a folder; null for the folder itself and for resources of other folders. */
function childOf(resource: DavResource, own: readonly string[]): Child | null {
  const parts = partsOf(resource.href);
  if (parts.length !== own.length + 1 || !isSamePath(parts.slice(0, -1), own)) return null;
  const last = parts.at(-1) as string;
  const name = percentDecoded(last);
  return { ...resource, name, shown: name ?? last };
}

/** Sort children into folders to list, files of the source, and faults. */
function sortOut(
  children: readonly Child[],
  folder: string,
  globs: ReturnType<typeof compileGlobs>,
): Listing & { readonly folders: readonly string[] } {
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  const folders: string[] = [];
  for (const child of children) {
    const key = folder === '' ? child.shown : `${folder}/${child.shown}`;
    const isFolder = child.isCollection || child.href.endsWith('/');
    const isLeftOut = isFolder ? globs.excludesFolder(withoutControl(key)) : !globs.matches(withoutControl(key));
    if (isLeftOut || (child.status !== null && isGone(child.status))) continue;
    const fault = faultOf(child, key);
    if (fault !== null) faults.push(isFolder ? { ...fault, isFolder } : fault);
    else if (isFolder) folders.push(key);
    else entries.push(entryOf(child, key));
  }
  return { entries, faults, folders };
}

function faultOf({ name, status }: Child, key: string): EntryFault | null {
  if (name === null) return { key, fault: 'its name is not UTF-8; rename it' };
  if (name.includes('/')) return { key: withoutControl(key), fault: 'its name has a slash; rename it' };
  if (key.split('/').length > DEPTH_MAX) return { key, fault: `it is below more than ${DEPTH_MAX} folders` };
  const ofName = controlFault(key) ?? longKeyFault(key);
  if (ofName !== null || status === null) return ofName;
  return { key, fault: entryReason(status) ?? `the server does not describe it (${status})` };
}

/** Convert a resource to an entry. Its version is the ETag, or else size and time. The size may be unknown. */
function entryOf({ etag, sizeBytes, modifiedMs }: DavResource, key: string): ListedEntry {
  return {
    key,
    version: etag === null ? `${sizeBytes ?? ''}-${modifiedMs ?? ''}` : `${etag}-${sizeBytes ?? ''}`,
    sizeBytes: sizeBytes ?? INLINE_BYTES_MAX + 1,
    eventTimeMs: modifiedMs,
  };
}
