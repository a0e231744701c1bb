import { z } from 'zod';

/** Version of the export layout. Increase it only if older code can't read new exports. */
export const FORMAT = 1;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.number().int().min(0);
const Id = z.string().min(1).max(200);

const LineFile = z.strictObject({ key: Id, size_bytes: Count, sha256: Sha256, lines: Count });

const TableFile = LineFile.extend({ table: Id, columns: z.array(Id).min(1) });
export type TableFile = z.infer<typeof TableFile>;

/** Start of an export, which reserves a place for an organization. */
export const Begun = z.strictObject({ move_id: Id, org_id: Id });
export type Begun = z.infer<typeof Begun>;

/** Requirements of the organization on an installation. */
export const Needs = z.strictObject({
  /** Migration version of the database, which must equal that of the target. */
  schema_version: Count,
  /** Embedding models of its buckets, with their latent spaces. */
  vectors: z.array(z.strictObject({ bucket: z.string(), model: z.string(), space: z.string() })),
  /** Maps that converted stored vectors. The target assigns its own version to each. */
  maps: z.array(z.strictObject({ version: Count, space: z.string(), model: z.string(), sha256: Sha256 })),
  /** Latent spaces of the source, with their SHA-256. */
  spaces: z.array(z.strictObject({ id: z.string(), sha256: Sha256 })),
  /** Models in its routing. */
  routing: z.array(z.string()),
  /** Index engines in use, other than LanceDB. */
  engines: z.array(z.string()),
  /** Connections in the settings that its sources use. */
  connections: z.array(z.string()),
});
export type Needs = z.infer<typeof Needs>;

/** Signed list of an export's contents, written after everything that it names. */
export const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  kind: z.literal('organization'),
  move_id: Id,
  created_at: z.iso.datetime(),
  service_version: z.string(),
  /** Id of the exporting installation. */
  source: Id,
  organization: z.strictObject({ id: Id, name: z.string().min(1), plan: z.string() }),
  needs: Needs,
  /** Range of generation ids, which the target renumbers; zeros if there are none. */
  generations: z.strictObject({ first: Count, last: Count }),
  tables: z.array(TableFile).min(1),
  /** Encrypted values of rows, as JSON lines of `SealedValue`. */
  sealed: LineFile,
  /** Encrypted HMAC key of API key hashes, base64. */
  sealed_pepper: z.string(),
  /** Files as JSON lines of `ObjectEntry`, sorted by key in byte order. */
  objects: LineFile.extend({ object_bytes: Count }),
  /** Number of files that rows refer to but the source lacks. */
  missing_objects: Count,
  /** Number of searchable documents and chunks. */
  documents: Count,
  chunks: Count,
  /** Public ids of the valid API keys, for the proxy. */
  key_ids: z.array(z.string()),
  /** Number of people who sign in with a password of the source. */
  people_with_passwords: Count,
});
export type Manifest = z.infer<typeof Manifest>;

/** Last, signed part of an export, written when the source has stopped serving the organization. */
export const Release = z.strictObject({
  format: z.literal(FORMAT),
  move_id: Id,
  released_at: z.iso.datetime(),
  /** Set if the organization was already suspended before its move. */
  suspended_at: z.iso.datetime().nullable(),
  tables: z.array(TableFile),
  sealed: LineFile,
});
export type Release = z.infer<typeof Release>;

/** Value encrypted with the export key, and the key of its row. Bytes in a key are `\x` and hexadecimal digits. */
export const SealedValue = z.strictObject({
  table: Id,
  column: Id,
  row: z.record(z.string(), z.string()),
  sealed: z.string(),
});
export type SealedValue = z.infer<typeof SealedValue>;
