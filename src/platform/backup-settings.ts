import path from 'node:path';
import { z } from 'zod';
import { parseDuration } from './duration.ts';
import { AppError, invalidRequest } from './errors.ts';
import { integerSetting, numberSetting } from './number-settings.ts';

const DAY_MS = 24 * 3_600_000;
const MIB = 1024 * 1024;
const PREFIX = /^([a-z0-9][a-z0-9_-]{0,63}\/)*$/;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Minimum interval of the schedule, since a backup reads every row. */
const EVERY_MS_MIN = 60_000;

/** Place of backups: a folder of this host, or a prefix in a bucket. */
export type BackupLocation =
  | { readonly kind: 'folder'; readonly directory: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const Location = z.string().superRefine((text, context) => {
  const location = parseLocation(text);
  if (typeof location === 'string') context.addIssue({ code: 'custom', message: location });
});

const Interval = z.string().superRefine((text, context) => {
  try {
    if (parseDuration(text) < EVERY_MS_MIN) context.addIssue({ code: 'custom', message: 'must be at least 1m' });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

/** Settings of backups, of retention, and of the ballast file. */
export const backupSettings = {
  backup: z
    .strictObject({
      /** Place of scheduled backups; without it, none are made. */
      to: Location.optional().describe(
        'folder or s3://bucket/prefix for scheduled backups (default: no scheduled backups)',
      ),
      every: Interval.default('24h').describe('time between two backups, such as 24h'),
      keep: integerSetting({ min: 1, max: 1_000, default: 7 }, 'number of complete backups to keep'),
    })
    .prefault({})
    .describe('scheduled backups'),
  retention: z
    .strictObject({
      audit_days: numberSetting({ min: 1, max: 36_500, default: 365 }, 'days for which the audit log is kept'),
      /** Retention of finished jobs. A document's last job is kept as long as the document. */
      jobs_days: numberSetting(
        { min: 1, max: 36_500, default: 365 },
        'days for which finished jobs are kept; the last job of a document is kept as long as the document',
      ),
      usage_days: z
        .number()
        .min(31)
        .max(36_500)
        .optional()
        .describe('days for which usage is kept; whole months are removed at a time (default: forever)'),
    })
    .prefault({})
    .describe('time for which records are kept'),
  /** Size of the file that is deleted when the disk is full; 0 for none. */
  ballast_bytes: integerSetting(
    { min: 0, max: 64 * 1024 * MIB, default: 256 * MIB },
    'size of a file that the service deletes when the disk is full, so that it can work again; 0 for none',
  ),
};

type BackupFile = z.output<z.ZodObject<typeof backupSettings>>;

export interface BackupSettings {
  /** Destination of scheduled backups; null without a schedule. */
  readonly to: BackupLocation | null;
  readonly everyMs: number;
  readonly keep: number;
}

export interface RetentionSettings {
  readonly auditMs: number;
  readonly jobsMs: number;
  /** Null to keep usage forever. */
  readonly usageMs: number | null;
}

/** Convert the file's settings to the program's form. */
export function backupConfigOf({ backup, retention, ballast_bytes }: BackupFile): {
  backup: BackupSettings;
  retention: RetentionSettings;
  /** Size of the ballast file; 0 for none. */
  ballastBytes: number;
} {
  return {
    backup: {
      to: backup.to === undefined ? null : locationOf(backup.to),
      everyMs: parseDuration(backup.every),
      keep: backup.keep,
    },
    retention: {
      auditMs: retention.audit_days * DAY_MS,
      jobsMs: retention.jobs_days * DAY_MS,
      usageMs: retention.usage_days === undefined ? null : retention.usage_days * DAY_MS,
    },
    ballastBytes: ballast_bytes,
  };
}

/** Parse a location. @throws AppError `invalid_request` (400) */
export function locationOf(text: string, param = 'backup.to'): BackupLocation {
  const location = parseLocation(text);
  if (typeof location === 'string') throw invalidRequest(`${param}: ${location}`, param);
  return location;
}

/** Parse `s3://bucket/prefix` or the name of a folder. Return the location, or an error message. */
function parseLocation(text: string): BackupLocation | string {
  if (text.trim() === '') return 'must be a folder, or s3://bucket/prefix';
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: 'folder', directory: path.resolve(text) };
  const [, bucket = '', rest = ''] = /^s3:\/\/([^/]*)\/?(.*)$/.exec(text) ?? [];
  const prefix = rest === '' || rest.endsWith('/') ? rest : `${rest}/`;
  if (!text.startsWith('s3://')) return 'must be a folder, or s3://bucket/prefix';
  if (!BUCKET.test(bucket)) return 'must name a bucket after s3://';
  if (!PREFIX.test(prefix)) return 'must have a prefix of lower-case segments, such as s3://bucket/backups/';
  return { kind: 's3', bucket, prefix };
}

/** Format a location as a user would write it. */
export function describeLocation(location: BackupLocation): string {
  return location.kind === 'folder' ? location.directory : `s3://${location.bucket}/${location.prefix}`;
}
