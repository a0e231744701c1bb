import { z } from 'zod';

/** Version of the backup layout. It changes only if older code can't read a new backup. */
export const FORMAT = 1;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.number().int().min(0);

/** File of a backup, with the SHA-256 of its stored bytes. */
const StoredFile = z.strictObject({ key: z.string().min(1), size_bytes: Count, sha256: Sha256 });
export type StoredFile = z.infer<typeof StoredFile>;

/** Compressed text with one record per line. */
const LineFile = StoredFile.extend({ lines: Count });
export type LineFile = z.infer<typeof LineFile>;

const TableFile = LineFile.extend({ table: z.string().min(1), columns: z.array(z.string().min(1)).min(1) });
export type TableFile = z.infer<typeof TableFile>;

const SequenceState = z.strictObject({ sequence: z.string().min(1), last_value: z.string(), is_called: z.boolean() });
export type SequenceState = z.infer<typeof SequenceState>;

/** Manifest of a backup. It is written after everything that it names. */
export const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  id: z.string().regex(/^bak_[0-9a-z]+$/),
  /** Time of the snapshot of the database. */
  created_at: z.iso.datetime(),
  service_version: z.string(),
  postgres_version: z.string(),
  /** Id of the installation that was backed up. */
  installation_id: z.string().min(1),
  /** Keyed hash by which a restore recognises the secret key. No backup contains the key itself. */
  secret_key_check: z.string().regex(/^[0-9a-f]+$/),
  schema_version: Count,
  migrations: z.array(z.strictObject({ version: Count, name: z.string(), checksum: z.string() })).min(1),
  /** Tables in the order in which they can be filled. */
  tables: z.array(TableFile).min(1),
  sequences: z.array(SequenceState),
  /** Keys of the files that the rows reference, in byte order. */
  references: LineFile,
  /** Files of the installation, as JSON lines of `ObjectEntry` in the byte order of their keys. */
  objects: LineFile.extend({ object_bytes: Count }),
  /** Number of referenced files that no longer existed when the backup was created. */
  missing_objects: Count,
});
export type Manifest = z.infer<typeof Manifest>;

/** File of the installation. Its content is stored under its SHA-256, once for all backups of a location. */
export const ObjectEntry = z.strictObject({
  key: z.string().min(1),
  size_bytes: Count,
  sha256: Sha256,
  /** Tag of the content in the original storage. If it is unchanged, the next backup doesn't read the file again. */
  tag: z.string(),
});
export type ObjectEntry = z.infer<typeof ObjectEntry>;

/** Step of a backup, a verification or a restore, with the number of finished items. */
export interface Progress {
  readonly phase: 'rows' | 'files' | 'checking' | 'index';
  readonly done: number;
  /** Null if unknown. */
  readonly total: number | null;
}

export type OnProgress = (progress: Progress) => void;
