import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';
import type { Config } from '../platform/config.ts';
import { readOrCreateLine } from '../platform/create-once.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { requireConditionalWrites } from '../platform/objects/probe-objects.ts';
import { explainS3Failure } from '../platform/objects/s3-errors.ts';

const CLAIM_KEY = 'installation';

const Claim = z.strictObject({ installation: z.string(), index: z.string() });
type Claim = z.infer<typeof Claim>;

/**
 * Make sure that only this installation uses its prefix on S3, and that all its hosts share one index. The first start
 * writes a claim to the bucket, and later starts compare it. Two installations with the same prefix would remove each
 * other's files as orphans. Other hosts can't read an index on one host's disk.
 *
 * @param installation id of this installation, that is, of its database
 * @throws AppError `config_invalid`, `conditional_writes_ignored`, and errors of `Objects`
 */
export async function claimStorage(config: Config, objects: Objects, installation: string): Promise<void> {
  if (config.objects === null) return;
  const { bucket, prefix, endpoint } = config.objects;
  const index = config.index.storage === 's3' ? 's3' : `disk ${idOfDisk(config.dataDir)}`;
  const first = async () => {
    if (config.index.storage === 's3') await requireConditionalWrites(objects);
    return claim(objects, { installation, index });
  };
  const held = await first().catch((error: unknown) => {
    throw explainS3Failure(error, { bucket, endpoint });
  });
  if (held.installation !== installation) {
    throw refusal(
      `s3://${bucket}/${prefix} holds the files of another installation; choose another bucket, or another objects.prefix`,
    );
  }
  if (held.index === index) return;
  const claimUrl = `s3://${bucket}/${prefix}objects/${CLAIM_KEY}`;
  throw refusal(
    held.index === 's3'
      ? 'index.storage: the index of this installation is on S3; set it to s3'
      : `index.storage: the index of this installation is on the disk of another host or data directory; for several hosts, stop it, copy its <data dir>/index to s3://${bucket}/${prefix}index, delete ${claimUrl} and set index.storage to s3 everywhere`,
  );
}

/**
 * Withdraw the claim of the storage before a backup's files are written into it, so that the next start claims it for
 * the installation of the backup.
 *
 * @param installations ids of installations whose claim may be withdrawn
 * @throws AppError `config_invalid` if the storage belongs to another installation
 */
export async function withdrawClaim(
  config: Config,
  objects: Objects,
  installations: readonly (string | null)[],
): Promise<void> {
  if (config.objects === null) return;
  const held = await readClaim(objects);
  if (held === null) return;
  const { bucket, prefix } = config.objects;
  if (!installations.includes(held.installation)) {
    throw refusal(
      `s3://${bucket}/${prefix} holds the files of another installation; choose another bucket, or another objects.prefix`,
    );
  }
  await objects.delete(CLAIM_KEY);
}

async function claim(objects: Objects, mine: Claim): Promise<Claim> {
  const held = await readClaim(objects);
  if (held !== null) return held;
  try {
    await objects.put(CLAIM_KEY, Buffer.from(JSON.stringify(mine)), { ifAbsent: true });
    return mine;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'object_exists') throw error;
  }
  return (await readClaim(objects)) ?? mine;
}

async function readClaim(objects: Objects): Promise<Claim | null> {
  try {
    return Claim.parse(JSON.parse(Buffer.from(await objects.get(CLAIM_KEY)).toString()));
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') return null;
    throw error;
  }
}

function idOfDisk(dataDir: string): string {
  return readOrCreateLine(path.join(dataDir, 'index.id'), randomUUID);
}

function refusal(message: string): AppError {
  return new AppError({ code: 'config_invalid', status: 500, message });
}
