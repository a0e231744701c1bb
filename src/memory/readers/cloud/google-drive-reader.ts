import path from 'node:path';
import { z } from 'zod';
import type { GoogleDriveConnection } from '../../../platform/cloud-source-settings.ts';
import { fileNameOf, oneLine } from '../../../platform/printable.ts';
import { openGoogleCredential } from '../../../platform/upstream/google-credential.ts';
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

const SCOPE = 'https://www.googleapis.com/auth/drive.readonly';
const PAGE_ROWS = 1_000;
const FILES_MAX = 1_000_000;
/** Size limit of exports (developers.google.com/workspace/drive/api/reference/rest/v3/files/export, November 2026). */
const EXPORT_BYTES_MAX = 10 * 1024 * 1024;
const FIELDS =
  'nextPageToken,incompleteSearch,files(id,name,mimeType,modifiedTime,md5Checksum,size,parents,version,webViewLink)';
const FIELDS_WITH_RIGHTS = FIELDS.replace('webViewLink', 'webViewLink,permissions(type,emailAddress,deleted)');
const FOLDER = 'application/vnd.google-apps.folder';
const GOOGLE_TYPES = 'application/vnd.google-apps.';
/** Export format of each type of Google document, with its file extension. */
const EXPORTS: Readonly<Record<string, readonly [string, string]>> = {
  'application/vnd.google-apps.document': ['text/markdown', '.md'],
  'application/vnd.google-apps.spreadsheet': [
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    '.xlsx',
  ],
  'application/vnd.google-apps.presentation': [
    'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    '.pptx',
  ],
};

const DriveFile = z.object({
  id: z.string(),
  name: z.string(),
  mimeType: z.string(),
  modifiedTime: z.iso.datetime({ offset: true }),
  md5Checksum: z.string().optional(),
  size: z.string().optional(),
  parents: z.array(z.string()).optional(),
  version: z.string().optional(),
  webViewLink: z.string().optional(),
  permissions: z
    .array(z.object({ type: z.string(), emailAddress: z.string().optional(), deleted: z.boolean().optional() }))
    .optional(),
});
type DriveFile = z.output<typeof DriveFile>;
const FileList = z.object({
  nextPageToken: z.string().optional(),
  incompleteSearch: z.boolean().optional(),
  files: z.array(DriveFile),
});

type FoundFile = DriveFile & { readonly path: string };

/**
 * Open the files shared with a service account, or those of a shared drive, as a source
 * (developers.google.com/workspace/drive/api/reference/rest/v3, November 2026). Export Google documents.
 */
export function openGoogleDriveReader(
  { url, account }: GoogleDriveConnection,
  { drive, folder, rights = false, ...globs }: ConfigOf<'gdrive'>,
  bytesMax: number,
): SourceReader {
  const credential = openGoogleCredential(account, SCOPE);
  const authorize = async (signal: AbortSignal) => ({
    authorization: `Bearer ${(await credential.key(signal)).reveal()}`,
  });
  const api = new ApiClient({ origin: url, name: 'Google Drive', authorize });
  const { matches } = compileGlobs(globs);
  let found = new Map<string, FoundFile>();
  return {
    async *list(signal) {
      const files = pathsBelow(await listFiles(api, { drive, rights }, signal), folder ?? null).filter(isReadable);
      found = keysOf(files.filter((file) => matches(file.path)));
      yield { faults: [], entries: [...found].map(([key, file]) => toListed(key, file, rights)) };
    },
    read: (entries, signal) =>
      readEach(entries, async ({ key, version }) => {
        const file = found.get(key);
        if (file === undefined) throw new SourceFault('source_missing', 'the file is gone');
        return readFile(api, { key, version, file, bytesMax, rights }, signal);
      }),
    async close() {
      await credential.close();
      await api.close();
    },
  };
}

async function listFiles(
  api: ApiClient,
  { drive, rights }: { readonly drive: string | undefined; readonly rights: boolean },
  signal: AbortSignal,
): Promise<DriveFile[]> {
  const files: DriveFile[] = [];
  const query = new URLSearchParams({
    q: 'trashed = false',
    pageSize: String(PAGE_ROWS),
    fields: rights ? FIELDS_WITH_RIGHTS : FIELDS,
    supportsAllDrives: 'true',
    includeItemsFromAllDrives: 'true',
    ...(drive === undefined ? { corpora: 'user' } : { corpora: 'drive', driveId: drive }),
  });
  for (;;) {
    const page = await api.get(`/drive/v3/files?${query}`, FileList, signal);
    if (page.incompleteSearch === true) {
      // Files that the listing lacks would count as gone, and lose their documents.
      throw new SourceFault('source_unavailable', 'Google Drive lists its files incompletely', { retryable: true });
    }
    files.push(...page.files);
    if (page.nextPageToken === undefined) return files;
    if (page.nextPageToken === query.get('pageToken') || files.length > FILES_MAX) {
      throw new SourceFault('source_too_large', `the drive has more than ${FILES_MAX} files; name a folder`);
    }
    query.set('pageToken', page.nextPageToken);
  }
}

/** Compute the paths of files below a folder, or below the top if null. Skip folders and files outside. */
function pathsBelow(files: readonly DriveFile[], folder: string | null): FoundFile[] {
  const byId = new Map(files.map((file) => [file.id, file]));
  const paths = new Map<string, string | null>();
  /** Return a folder's path with a trailing slash; null outside the wanted folder or in a cycle. */
  const folderPath = (id: string | undefined): string | null => {
    if (id === folder) return '';
    const own = id === undefined ? undefined : byId.get(id);
    // Items shared with the account are at the top if the account may not see their parent.
    if (id === undefined || own === undefined) return folder === null ? '' : null;
    const known = paths.get(id);
    if (known !== undefined) return known;
    paths.set(id, null);
    const parent = folderPath(own.parents?.[0]);
    const path = parent === null ? null : `${parent}${segmentOf(own.name)}/`;
    paths.set(id, path);
    return path;
  };
  return files.flatMap((file) => {
    const parent = file.mimeType === FOLDER ? null : folderPath(file.parents?.[0]);
    return parent === null ? [] : [{ ...file, path: parent + nameOf(file) }];
  });
}

function segmentOf(name: string): string {
  return oneLine(name).replaceAll('/', '_') || '_';
}

function nameOf({ name, mimeType }: DriveFile): string {
  return segmentOf(name) + (EXPORTS[mimeType]?.[1] ?? '');
}

/** Return true for a file with content, unlike Google's forms, maps and links. */
function isReadable({ mimeType }: DriveFile): boolean {
  return !mimeType.startsWith(GOOGLE_TYPES) || mimeType in EXPORTS;
}

function toListed(key: string, file: FoundFile, rights: boolean): ListedEntry {
  const { md5Checksum, modifiedTime, version, size } = file;
  const content = md5Checksum ?? `${modifiedTime} ${version ?? ''}`;
  const shared = rightsVersion(rights ? readersOf(file) : undefined);
  return { key, version: content + shared, sizeBytes: Number(size ?? 0), eventTimeMs: Date.parse(modifiedTime) };
}

/**
 * Return the readers of a file. Sharing with a whole domain, or by link, counts as everyone. A file whose permissions
 * the account may not see has no readers.
 */
function readersOf({ permissions = [] }: DriveFile): EntryReaders | 'everyone' {
  const valid = permissions.filter(({ deleted }) => deleted !== true);
  if (valid.some(({ type }) => type === 'anyone' || type === 'domain')) return 'everyone';
  const addresses = (kind: string) =>
    valid.flatMap(({ type, emailAddress }) => (type === kind && emailAddress !== undefined ? [emailAddress] : []));
  return { emails: addresses('user').toSorted(), groups: addresses('group').toSorted() };
}

interface WantedFile {
  readonly key: string;
  readonly version: string;
  readonly file: FoundFile;
  readonly bytesMax: number;
  readonly rights: boolean;
}

async function readFile(
  api: ApiClient,
  { key, version, file, bytesMax, rights }: WantedFile,
  signal: AbortSignal,
): Promise<ReadEntry | EntryFault> {
  const size = Number(file.size ?? 0);
  const tooLarge = tooLargeFault(key, size, bytesMax);
  if (tooLarge !== null) return tooLarge;
  const form = EXPORTS[file.mimeType];
  const id = encodeURIComponent(file.id);
  const about = {
    key,
    version,
    fileName: fileNameOf(path.posix.basename(key)).slice(0, 255),
    contentType: form?.[0] ?? file.mimeType,
    sourcePath: key.normalize('NFC'),
    metadata: { source_kind: 'gdrive', ...(file.webViewLink === undefined ? {} : { source_url: file.webViewLink }) },
    eventTimeMs: Date.parse(file.modifiedTime),
    ...(rights ? { readers: readersOf(file) } : {}),
  };
  if (form !== undefined) {
    const query = new URLSearchParams({ mimeType: form[0] });
    const bytes = await api.bytes(`/drive/v3/files/${id}/export?${query}`, EXPORT_BYTES_MAX, signal);
    return { ...about, content: bytes.length === 0 ? null : { bytes } };
  }
  const address = `/drive/v3/files/${id}?alt=media&supportsAllDrives=true`;
  if (size > INLINE_BYTES_MAX) return { ...about, content: { openStream: () => api.open(address, signal) } };
  const bytes = await api.bytes(address, INLINE_BYTES_MAX, signal);
  return { ...about, content: bytes.length === 0 ? null : { bytes } };
}
