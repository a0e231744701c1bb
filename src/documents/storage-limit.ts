import type { Caller } from '../access/caller.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { lockStoredBytes } from './store.ts';

/**
 * Check that more bytes fit into the organization's storage. This serialises the callers of an organization until the
 * end of their transactions, so that together they can't exceed it.
 *
 * @param bytesMax limit of the plan; null for none
 * @param counted object keys of files that are part of `sizeBytes`
 * @throws AppError `storage_quota_exceeded` (402)
 */
export async function requireStorage(
  tx: Sql,
  caller: Pick<Caller, 'orgId' | 'plan'>,
  sizeBytes: number,
  bytesMax: number | null,
  counted: readonly string[] = [],
): Promise<void> {
  if (bytesMax === null) return;
  const storedBytes = await lockStoredBytes(tx, caller.orgId, counted);
  if (storedBytes + sizeBytes <= bytesMax) return;
  throw new AppError({
    code: 'storage_quota_exceeded',
    status: 402,
    message:
      `the plan "${caller.plan}" allows ${bytesMax} bytes of documents and files, and ${storedBytes} are in use; ` +
      `this adds ${sizeBytes}: delete documents or files, or ask for another plan`,
  });
}
