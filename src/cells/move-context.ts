import { lockForMove, type MovingOrganization } from '../access/move-store.ts';
import type { BackupContext } from '../backup/make-backup.ts';
import type { BackupTarget } from '../backup/target.ts';
import { AppError, conflict, notFound } from '../platform/errors.ts';
import { inTransaction, type Sql, withAdvisoryLock } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { ExportKey } from './export-key.ts';

/** Parts of an installation that a move needs. */
export interface MoveContext extends Omit<BackupContext, 'keyRing'> {
  readonly keyRing: Pick<KeyRing, 'apiKeyPepper' | 'encryption'>;
}

/** Progress of a step of a move. */
export interface MoveStep {
  readonly phase: 'jobs' | 'rows' | 'files' | 'checking' | 'index';
  readonly done: number;
  /** Null if unknown. */
  readonly total: number | null;
}

export interface MoveOptions {
  /** Location of the export. */
  readonly place: BackupTarget;
  readonly key: ExportKey;
  /** Operator's name in the audit log. */
  readonly actor: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (step: MoveStep) => void;
}

/** Read an organization and the state of its move. @throws AppError `organization_not_found` (404) */
export async function readMoving(sql: Sql, orgId: string): Promise<MovingOrganization> {
  const organization = await inTransaction(sql, (tx) => lockForMove(tx, orgId));
  if (organization === null) throw notFound('organization', orgId);
  return organization;
}

/**
 * Run `fn` under the organization's move lock.
 * @throws AppError `move_running` (409) at once if another process holds the lock
 */
export async function withMoveLock<T>(
  { direct }: Pick<MoveContext, 'direct'>,
  orgId: string,
  signal: AbortSignal,
  fn: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withAdvisoryLock(direct, `move/${orgId}`, (_stillHeld, lost) => fn(AbortSignal.any([signal, lost])), {
      signal,
      waits: false,
    });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'lock_held') throw error;
    throw conflict('another process is moving this organization; wait until it is done, or stop it', 'move_running');
  }
}
