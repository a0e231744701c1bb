import { z } from 'zod';

/** Version of the layout of exports. It changes only if older code could not read a new export. */
export const FORMAT = 1;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.number().int().min(0);
const Id = z.string().min(1).max(200);

const LineFile = z.strictObject({ key: Id, size_bytes: Count, sha256: Sha256, lines: Count });

const TableFile = LineFile.extend({ table: Id, columns: z.array(Id).min(1) });
export type TableFile = z.infer<typeof TableFile>;

/** Beginning of an export, which names the organization that a place is for. */
export const Begun = z.strictObject({ move_id: Id, org_id: Id });
export type Begun = z.infer<typeof Begun>;

/** Parts of an installation that the organization cannot do without. */
export const Needs = z.strictObject({
  /** Migrations of the database, which must be those of the target. */
  schema_version: Count,
  /** Models of the vectors of its buckets, and the latent spaces that they are in. */
  vectors: z.array(z.strictObject({ bucket: z.string(), model: z.string(), space: z.string() })),
  /** Maps that made stored vectors. The target gives each its own version. */
  maps: z.array(z.strictObject({ version: Count, space: z.string(), model: z.string(), sha256: Sha256 })),
  /** Spaces of the source, and the SHA-256 of each. */
  spaces: z.array(z.strictObject({ id: z.string(), sha256: Sha256 })),
  /** Models of its routing. */
  routing: z.array(z.string()),
  /** Engines of its indexes beside LanceDB. */
  engines: z.array(z.string()),
  /** Connections of the settings that its sources read. */
  connections: z.array(z.string()),
});
export type Needs = z.infer<typeof Needs>;

/** Contents of an export. It is written after everything that it names, and signed. */
export const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  kind: z.literal('organization'),
  move_id: Id,
  created_at: z.iso.datetime(),
  service_version: z.string(),
  /** Installation that made the export. */
  source: Id,
  organization: z.strictObject({ id: Id, name: z.string().min(1), plan: z.string() }),
  needs: Needs,
  /** Ids of the generations, which the target moves to numbers of its own; zeros without any. */
  generations: z.strictObject({ first: Count, last: Count }),
  tables: z.array(TableFile).min(1),
  /** Encrypted values of rows, as JSON lines of `SealedValue`. */
  sealed: LineFile,
  /** Key of the hashes of API keys, encrypted (base64). */
  sealed_pepper: z.string(),
  /** Files as JSON lines of `ObjectEntry`, in the byte order of their keys. */
  objects: LineFile.extend({ object_bytes: Count }),
  /** Number of files that rows refer to, and that the source did not have. */
  missing_objects: Count,
  /** Documents and chunks that searches find. */
  documents: Count,
  chunks: Count,
  /** Public ids of the API keys that are valid, for the proxy. */
  key_ids: z.array(z.string()),
  /** People who signed in with a password of the source. */
  people_with_passwords: Count,
});
export type Manifest = z.infer<typeof Manifest>;

/** Last part of an export: written when the source has stopped serving the organization, and signed. */
export const Release = z.strictObject({
  format: z.literal(FORMAT),
  move_id: Id,
  released_at: z.iso.datetime(),
  /** Set if the organization was suspended before it moved. */
  suspended_at: z.iso.datetime().nullable(),
  tables: z.array(TableFile),
  sealed: LineFile,
});
export type Release = z.infer<typeof Release>;

/** Value that the key of the export encrypts, and its row. A key column of bytes is `\x` and hexadecimal digits. */
export const SealedValue = z.strictObject({
  table: Id,
  column: Id,
  row: z.record(z.string(), z.string()),
  sealed: z.string(),
});
export type SealedValue = z.infer<typeof SealedValue>;
