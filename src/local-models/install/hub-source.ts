import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { z } from 'zod';
import type { Config } from '../../platform/config.ts';
import { AppError } from '../../platform/errors.ts';
import { HubClient, HubInterruption } from './hub-client.ts';
import { unsafeSource } from './install-errors.ts';
import { licenceOf } from './model-card.ts';
import type { ModelSource, SourceFile } from './source.ts';

const Revision = z.looseObject({ sha: z.string().regex(/^[0-9a-f]{40}$/), cardData: z.unknown() });
const Tree = z
  .array(
    z.looseObject({
      type: z.string(),
      path: z.string(),
      oid: z.string().optional(),
      size: z.number().min(0).default(0),
      lfs: z.looseObject({ oid: z.string(), size: z.number().min(0) }).optional(),
    }),
  )
  .max(100_000);

interface HubFile extends SourceFile {
  readonly digest: { readonly kind: 'sha256' | 'git'; readonly hex: string };
}

/**
 * Open a model on a hub. Its files come from one commit, even if it changes later.
 *
 * @throws AppError `hub_refused` (403), `hub_model_not_found` (404), `hub_unavailable` (503)
 */
export async function openHub(
  id: string,
  {
    settings,
    revision = 'main',
    signal,
  }: { settings: Config['localModels']; revision: string | undefined; signal: AbortSignal },
): Promise<ModelSource> {
  const client = new HubClient(settings, id);
  const about = await client.json(`/api/models/${id}/revision/${encodeURIComponent(revision)}`, signal);
  const parsed = Revision.safeParse(about);
  if (!parsed.success) throw unsafeSource(`the hub ${settings.hubUrl} gives no commit for ${id}`);
  const commit = parsed.data.sha;
  const files = new Map<string, HubFile>();
  return {
    label: `${id}@${commit.slice(0, 12)}`,
    licence: licenceOf(parsed.data.cardData),
    revision: commit,
    resumeKey: `${settings.hubUrl} ${id} ${commit}`,
    async list(listSignal) {
      const tree = Tree.safeParse(await client.json(`/api/models/${id}/tree/${commit}?recursive=true`, listSignal));
      if (!tree.success) throw unsafeSource(`the hub ${settings.hubUrl} gives no list of the files of ${id}`);
      for (const { type, path, oid = '', size, lfs } of tree.data) {
        if (type === 'directory') continue;
        if (type !== 'file') throw unsafeSource(`${id} contains an entry that is not a file: ${path.slice(0, 100)}`);
        const digest = lfs ? ({ kind: 'sha256', hex: lfs.oid } as const) : ({ kind: 'git', hex: oid } as const);
        files.set(path, { path, sizeBytes: lfs?.size ?? size, digest });
      }
      return [...files.values()];
    },
    async fetch(file, target, onBytes, fetchSignal) {
      const known = files.get(file.path) as HubFile;
      const path = `/${id}/resolve/${commit}/${file.path.split('/').map(encodeURIComponent).join('/')}`;
      await download(client, path, known, { target, onBytes, signal: fetchSignal });
    },
    async close() {},
  };
}

/**
 * Fetch a file, resuming after an existing part, and verify its digest.
 * @throws AppError `hub_checksum_mismatch` (502), after deleting the file; errors of the client
 */
async function download(
  client: HubClient,
  path: string,
  file: HubFile,
  { target, onBytes, signal }: { target: string; onBytes: (bytes: number) => void; signal: AbortSignal },
): Promise<void> {
  let have = await sizeOf(target);
  if (have > file.sizeBytes) {
    await rm(target);
    have = 0;
  }
  onBytes(have);
  let last = have;
  const hasProgress = () => {
    const progress = have > last;
    last = have;
    return progress;
  };
  await client.retrying(
    async () => {
      while (have < file.sizeBytes || file.sizeBytes === 0) {
        const response = await client.open(path, have > 0 ? { range: `bytes=${have}-` } : {}, signal);
        if (response.status === 200 && have > 0) {
          onBytes(-have);
          have = 0;
        }
        const handle = await open(target, have > 0 ? 'a' : 'w');
        try {
          for await (const part of client.bytesOf(response)) {
            if (have + part.length > file.sizeBytes) throw await mismatch(file, target);
            await handle.write(part);
            have += part.length;
            onBytes(part.length);
          }
        } finally {
          await handle.close();
        }
        if (file.sizeBytes === 0) return;
        if (have < file.sizeBytes) throw new HubInterruption(`${file.path} broke off after ${have} bytes`);
      }
    },
    signal,
    hasProgress,
  );
  if ((await digestOf(target, file)) !== file.digest.hex) throw await mismatch(file, target);
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** Compute the digest as the hub does: SHA-256 for large files, and git's SHA-1 with a header for others. */
async function digestOf(target: string, { digest, sizeBytes }: HubFile): Promise<string> {
  const hash = createHash(digest.kind === 'git' ? 'sha1' : 'sha256');
  if (digest.kind === 'git') hash.update(`blob ${sizeBytes}\0`);
  for await (const part of createReadStream(target)) hash.update(part as Buffer);
  return hash.digest('hex');
}

async function mismatch(file: HubFile, target: string): Promise<AppError> {
  await rm(target, { force: true });
  return new AppError({
    code: 'hub_checksum_mismatch',
    status: 502,
    message: `the content of ${file.path} does not match the checksum of the hub (${file.digest.kind} ${file.digest.hex}); try again, and if the error remains, ask the operator of the mirror`,
  });
}
