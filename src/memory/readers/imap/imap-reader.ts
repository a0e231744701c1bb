import { Readable } from 'node:stream';
import type { FetchMessageObject, FetchQueryObject, ImapFlow } from 'imapflow';
import type { ImapSettings } from '../../../platform/imap-settings.ts';
import {
  controlFault,
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type Listing,
  longKeyFault,
  type ReadEntry,
  SourceFault,
  type SourceReader,
  tooLargeFault,
} from '../source-reader.ts';
import { refusalOf } from './imap-faults.ts';
import { describeMail, keyOf, parseKey } from './mail-entry.ts';
import { chooseFolders } from './mail-folders.ts';
import { MailServer } from './mail-server.ts';
import { readText } from './mail-text.ts';

/** Messages per slice of a listing. */
const SLICE_MESSAGES = 1_000;
/** Maximum messages per folder, the same as per source. */
const MESSAGES_MAX = 1_000_000;
/** Size of the parts in which a large message is fetched. */
const CHUNK_BYTES = 1024 * 1024;

export interface ImapReaderOptions {
  readonly imap: ImapSettings;
  /** Folder names or globs. */
  readonly folders: readonly string[];
  /** Earliest day of arrival, YYYY-MM-DD; undefined for all messages. */
  readonly since?: string | undefined;
  /** False to read only the text of messages. */
  readonly attachments: boolean;
  readonly bytesMax: number;
}

/**
 * Open a mailbox (IMAP4rev1, RFC 3501; IMAP4rev2, RFC 9051) as a source. Each message is an entry, as RFC 5322 bytes.
 * Messages never change, so a key alone identifies its content. Reading leaves the mailbox unchanged: folders are
 * opened with EXAMINE, and messages read with BODY.PEEK.
 */
export function openImapReader(options: ImapReaderOptions): SourceReader {
  const server = new MailServer(options.imap);
  return {
    async *list(signal) {
      const listed = await server.withClient(signal, (client) => client.list({ listOnly: true }));
      for (const folder of chooseFolders(listed, options.folders)) {
        const fault = controlFault(folder);
        if (fault === null) yield* listIfAllowed(server, folder, options, signal);
        else yield { entries: [], faults: [{ ...fault, isFolder: true }] };
      }
    },
    async read(entries, signal) {
      const read: (ReadEntry | EntryFault)[] = [];
      const byFolder = Map.groupBy(entries, ({ key }) => parseKey(key).folder);
      for (const [folder, some] of byFolder) read.push(...(await readFolder(server, folder, some, options, signal)));
      return read;
    },
    close: () => server.close(),
  };
}

/** List a folder, or report a fault if the server refuses to read it. */
async function* listIfAllowed(
  server: MailServer,
  folder: string,
  options: ImapReaderOptions,
  signal: AbortSignal,
): AsyncGenerator<Listing, void> {
  try {
    yield* listFolder(server, folder, options, signal);
  } catch (error) {
    // A refused login affects all folders. It fails before a folder is opened.
    if (!(error instanceof SourceFault) || error.category !== 'source_refused') throw error;
    yield { entries: [], faults: [{ key: folder, isFolder: true, fault: error.message }] };
  }
}

/** List the messages of a folder that aren't marked as deleted. */
async function* listFolder(
  server: MailServer,
  folder: string,
  options: ImapReaderOptions,
  signal: AbortSignal,
): AsyncGenerator<Listing, void> {
  const since = options.since === undefined ? {} : { since: options.since };
  yield* server.eachOfFolder(folder, signal, async function* slices({ client, uidValidity }) {
    const uids = await client.search({ deleted: false, ...since }, { uid: true });
    if (!Array.isArray(uids)) {
      throw new SourceFault('source_unavailable', `the mail server does not search the folder "${folder}"`);
    }
    if (uids.length > MESSAGES_MAX) {
      throw new SourceFault(
        'source_too_large',
        `the folder "${folder}" has more than ${MESSAGES_MAX} messages; limit them with since`,
      );
    }
    for (let from = 0; from < uids.length; from += SLICE_MESSAGES) {
      yield await listSlice(client, { folder, uidValidity }, uids.slice(from, from + SLICE_MESSAGES), options);
    }
  });
}

/** List messages with their sizes. @param uids ascending UIDs */
async function listSlice(
  client: ImapFlow,
  place: { readonly folder: string; readonly uidValidity: string },
  uids: readonly number[],
  { attachments }: ImapReaderOptions,
): Promise<Listing> {
  const wanted = new Set(uids);
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  const range = `${uids[0]}:${uids.at(-1)}`;
  for await (const { uid, size } of client.fetch(range, { uid: true, size: true }, { uid: true })) {
    if (!wanted.delete(uid)) continue;
    const key = keyOf({ ...place, uid });
    const fault = longKeyFault(key);
    if (fault === null) entries.push({ key, version: attachments ? 'message' : 'text', sizeBytes: size ?? 0 });
    else faults.push(fault);
  }
  return { entries, faults };
}

async function readFolder(
  server: MailServer,
  folder: string,
  entries: readonly ListedEntry[],
  options: ImapReaderOptions,
  signal: AbortSignal,
): Promise<(ReadEntry | EntryFault)[]> {
  return server.withFolder(folder, signal, async ({ client, uidValidity }) => {
    // Skip messages with an old UIDVALIDITY. The next listing has them under new keys.
    const current = entries.filter(({ key }) => parseKey(key).uidValidity === uidValidity);
    const read: (ReadEntry | EntryFault)[] = [];
    if (!options.attachments) {
      for (const each of await fetchSome(client, current, { bodyStructure: true })) {
        read.push('fault' in each ? each : await readTextOrFault(client, each));
      }
      return read;
    }
    const small = current.filter(({ sizeBytes }) => sizeBytes <= INLINE_BYTES_MAX);
    const large = current.filter(({ sizeBytes }) => sizeBytes > INLINE_BYTES_MAX);
    const found = [
      ...(await fetchSome(client, small, { source: { start: 0, maxLength: INLINE_BYTES_MAX + 1 } })),
      ...(await fetchSome(client, large, {})),
    ];
    return found.map((each) => ('fault' in each ? each : toEntry(server, each.entry, each.message, options, signal)));
  });
}

interface FetchedMail {
  readonly entry: ListedEntry;
  readonly message: FetchMessageObject;
}

/**
 * Fetch envelopes and more of several messages. Omit missing messages. If the server refuses the command, fetch
 * messages one by one, so that a damaged one doesn't block the others.
 */
async function fetchSome(
  client: ImapFlow,
  entries: readonly ListedEntry[],
  query: FetchQueryObject,
): Promise<(FetchedMail | EntryFault)[]> {
  if (entries.length === 0) return [];
  try {
    return await fetchTogether(client, entries, query);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    const [only, ...more] = entries;
    if (only !== undefined && more.length === 0) return [{ key: only.key, fault: refusal }];
    const fetched: (FetchedMail | EntryFault)[] = [];
    for (const entry of entries) fetched.push(...(await fetchSome(client, [entry], query)));
    return fetched;
  }
}

async function fetchTogether(
  client: ImapFlow,
  entries: readonly ListedEntry[],
  query: FetchQueryObject,
): Promise<FetchedMail[]> {
  const byUid = new Map(entries.map((entry) => [parseKey(entry.key).uid, entry]));
  const found: FetchedMail[] = [];
  const about = { uid: true, envelope: true, internalDate: true, size: true, headers: ['references'] };
  for await (const message of client.fetch([...byUid.keys()].join(','), { ...about, ...query }, { uid: true })) {
    const entry = byUid.get(message.uid);
    if (entry !== undefined && byUid.delete(message.uid)) found.push({ entry, message });
  }
  return found;
}

async function readTextOrFault(client: ImapFlow, { entry, message }: FetchedMail): Promise<ReadEntry | EntryFault> {
  try {
    return await readText(client, entry, message);
  } catch (error) {
    const fault = refusalOf(error);
    if (fault === null) throw error;
    return { key: entry.key, fault };
  }
}

function toEntry(
  server: MailServer,
  { key, version }: ListedEntry,
  message: FetchMessageObject,
  { bytesMax }: ImapReaderOptions,
  signal: AbortSignal,
): ReadEntry | EntryFault {
  const { source, size = 0 } = message;
  const about = describeMail(key, version, message);
  const tooLarge = tooLargeFault(key, size, bytesMax);
  if (tooLarge !== null) return { key, fault: `"${about.fileName}": ${tooLarge.fault}` };
  // Some servers announce a smaller size than the actual one.
  if (source !== undefined && source.length <= INLINE_BYTES_MAX) {
    return { ...about, content: source.length === 0 ? null : { bytes: source } };
  }
  return { ...about, content: { openStream: () => Readable.from(download(server, key, bytesMax, signal)) } };
}

/** Download a message in parts. The folder stays open until the last part. */
async function* download(
  server: MailServer,
  key: string,
  bytesMax: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const { folder, uidValidity, uid } = parseKey(key);
  yield* server.eachOfFolder(folder, signal, async function* parts(opened) {
    const options = { uid: true, chunkSize: CHUNK_BYTES };
    const { content } =
      opened.uidValidity === uidValidity ? await opened.client.download(String(uid), undefined, options) : {};
    if (content === undefined) {
      throw new SourceFault('source_unavailable', 'a message was removed while it was read', { retryable: true });
    }
    let bytes = 0;
    for await (const part of content) {
      bytes += (part as Buffer).length;
      if (bytes > bytesMax) {
        const message = `the message ${key} has more than the maximum of ${bytesMax} bytes, although the server announced fewer`;
        throw new SourceFault('source_too_large', message);
      }
      yield part as Buffer;
    }
  });
}
