import type { Engine } from '../documents/schema.ts';
import type { VectorOrigin } from '../embedding/model-choice.ts';
import { isInProgress } from '../jobs/state-store.ts';
import { LEXICAL_ID } from '../models/catalog.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { KEYWORD_ONLY, modelOfSpace } from '../projection/projections.ts';
import { firstTableName } from './engines.ts';
import { isRunAlive } from './writing/reindex-store.ts';

/** Leg weights of a search. Only their ratio matters. */
export interface LegWeights {
  readonly keyword: number;
  readonly vector: number;
}

/** Bucket's table as recorded in PostgreSQL. */
export interface IndexTable {
  readonly name: string;
  readonly version: number;
  /** Model and latent space of its vectors; null while empty. */
  readonly origin: VectorOrigin | null;
  /** Leg weights tuned for these vectors; null for the defaults of the kind of model. */
  readonly weights: LegWeights | null;
}

/** Return true if nothing was published and no weights were tuned between two reads. */
export function isSameTable(a: IndexTable | null, b: IndexTable | null): boolean {
  return (
    a?.name === b?.name &&
    a?.version === b?.version &&
    a?.origin?.space === b?.origin?.space &&
    a?.origin?.model === b?.origin?.model &&
    a?.weights?.keyword === b?.weights?.keyword &&
    a?.weights?.vector === b?.weights?.vector
  );
}

/** Return the first known model and space of the tables. */
export function originOf(tables: readonly (IndexTable | null)[]): VectorOrigin | null {
  return tables.find((table) => table?.origin)?.origin ?? null;
}

export async function getIndexTable(sql: Sql, bucketId: string): Promise<IndexTable | null> {
  const [row] = await sql`
    SELECT coalesce(table_name, bucket_id) AS name, version, model, revision, space, leg_weights FROM index_tables
    WHERE bucket_id = ${bucketId}`;
  return row ? toIndexTable(row) : null;
}

/** Return the engine of a bucket's index. */
export async function findEngine(sql: Sql, bucketId: string): Promise<Engine> {
  const [row] = await sql`SELECT engine FROM buckets WHERE id = ${bucketId}`;
  return (row?.['engine'] as Engine | null | undefined) ?? 'lance';
}

/** Record the engine of a bucket's index. */
export async function updateEngine(sql: Sql, bucketId: string, engine: Engine): Promise<void> {
  await sql`UPDATE buckets SET engine = ${engine === 'lance' ? null : engine} WHERE id = ${bucketId}`;
}

/** Return the name of the table that receives a bucket's next rows. */
export async function nameOfTable(sql: Sql, bucketId: string): Promise<string> {
  const own = await getIndexTable(sql, bucketId);
  return own?.name ?? firstTableName(bucketId, await findEngine(sql, bucketId));
}

export function toIndexTable(row: Readonly<Record<string, unknown>>): IndexTable {
  const space = row['space'] as string | null;
  const tuned = row['leg_weights'] as (LegWeights & { readonly space: string }) | null;
  return {
    name: row['name'] as string,
    version: Number(row['version']),
    origin: toOrigin(row),
    // Ignore weights that were tuned for the vectors of another model.
    weights: tuned?.space === space && tuned !== null ? { keyword: tuned.keyword, vector: tuned.vector } : null,
  };
}

/** Parse an origin from the columns `model`, `revision` and `space` of `index_tables`. */
export function toOrigin(row: Readonly<Record<string, unknown>>): VectorOrigin | null {
  const space = row['space'] as string | null;
  if (space === null) return null;
  // Processes of earlier releases don't record the model.
  const model = (row['model'] as string | null) ?? modelOfSpace(space) ?? LEXICAL_ID;
  return { model, revision: row['revision'] as string | null, space };
}

/** Store the leg weights for the bucket's current vectors; null for the defaults of the kind of model. */
export async function updateLegWeights(sql: Sql, bucketId: string, weights: LegWeights | null): Promise<void> {
  await sql`
    UPDATE index_tables SET leg_weights = CASE WHEN ${weights === null} THEN NULL ELSE jsonb_build_object(
      'space', space, 'keyword', ${weights?.keyword ?? 0}::float8, 'vector', ${weights?.vector ?? 0}::float8) END
    WHERE bucket_id = ${bucketId}`;
}

/**
 * Prevent the bucket's index from moving to another latent space until the transaction ends. Return false if it already
 * holds another space. In the lock order this comes after jobs and before documents.
 */
export async function lockIndexSpace(tx: Sql, bucketId: string, space: string): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} AND space = ${space} AND NOT ${isClosing(tx)}
    FOR KEY SHARE`;
  return rows.length > 0;
}

/**
 * Keep the bucket's index in this table until the transaction ends. Return false if the index has moved to another
 * table or is about to.
 */
export async function lockIndexName(tx: Sql, bucketId: string, name: string): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM index_tables
    WHERE bucket_id = ${bucketId} AND coalesce(table_name, bucket_id) = ${name} AND NOT ${isClosing(tx)}
    FOR KEY SHARE`;
  return rows.length > 0;
}

/** Select the model and space of buckets as in `findBucketOrigin`, by bucket id. */
export async function selectBucketOrigins(
  sql: Sql,
  bucketIds: readonly string[],
): Promise<ReadonlyMap<string, VectorOrigin | null>> {
  const rows = await sql`
    SELECT bucket_id, model, revision, space FROM index_tables
    WHERE bucket_id = ANY(${sql.array([...bucketIds])}::text[]) AND ${hasFoundVectors(sql)}`;
  return new Map(rows.map((row) => [row['bucket_id'] as string, toOrigin(row)]));
}

/** Build a condition on `index_tables`: another table is about to replace this one. */
export function isClosing(sql: Sql): SqlFragment {
  return sql`
    EXISTS (SELECT 1 FROM reprojections WHERE reprojections.bucket_id = index_tables.bucket_id AND closing_until > now())`;
}

/**
 * Select the model and space of a bucket's searchable vectors. Return null if there are none; the next document then
 * decides.
 */
export async function findBucketOrigin(sql: Sql, bucketId: string): Promise<VectorOrigin | null> {
  const [row] = await sql`
    SELECT model, revision, space FROM index_tables WHERE bucket_id = ${bucketId} AND ${hasFoundVectors(sql)}`;
  return row ? toOrigin(row) : null;
}

/** Build a condition on `index_tables`: the bucket has searchable vectors. */
export function hasFoundVectors(sql: Sql): SqlFragment {
  // Avoid EXISTS, which PostgreSQL may plan as a hash of all documents.
  return sql`(
    SELECT true FROM documents JOIN generations ON generations.id = documents.active_generation
    WHERE documents.bucket_id = index_tables.bucket_id AND documents.status <> 'deleting' AND NOT documents.keyword_only
    LIMIT 1)`;
}

/** Return true if the bucket has a searchable document with vectors of another space. */
export async function hasLiveOfOtherSpace(sql: Sql, bucketId: string, space: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents JOIN generations ON generations.id = documents.active_generation
    WHERE documents.bucket_id = ${bucketId} AND generations.space NOT IN (${space}, ${KEYWORD_ONLY}) LIMIT 1`;
  return rows.length > 0;
}

/**
 * Record the origin of the vectors that the table holds from now on, unless a searchable vector is of another space.
 * Call in a transaction.
 */
export async function adoptOrigin(
  tx: Sql,
  bucketId: string,
  { model, revision, space }: VectorOrigin,
): Promise<boolean> {
  await tx`SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} FOR UPDATE`;
  if (await hasLiveOfOtherSpace(tx, bucketId, space)) return false;
  await tx`
    UPDATE index_tables SET model = ${model}, revision = ${revision}, space = ${space}, updated_at = now()
    WHERE bucket_id = ${bucketId}`;
  return true;
}

/** Return the generations that are still registered. A deletion unregisters generations before it drops their rows. */
export async function findKnownGenerations(sql: Sql, ids: readonly number[]): Promise<Set<number>> {
  const rows = await sql`SELECT id FROM generations WHERE id = ANY(${sql.array([...ids])}::bigint[])`;
  return new Set(rows.map((row) => Number(row['id'])));
}

/** Range of generation ids, (after, upTo]. */
export interface GenerationRange {
  readonly after: number;
  readonly upTo: number;
}

/** Return the highest generation id, or 0. */
export async function findNewestGeneration(sql: Sql): Promise<number> {
  const [row] = await sql`SELECT coalesce(max(id), 0) AS id FROM generations`;
  return Number(row?.['id']);
}

/** Return the range of the next `limit` generations above the id `after`, or null if there are none. */
export async function findGenerationRange(sql: Sql, after: number, limit: number): Promise<GenerationRange | null> {
  const [row] = await sql`
    SELECT max(id) AS last FROM (SELECT id FROM generations WHERE id > ${after} ORDER BY id LIMIT ${limit}) AS next`;
  const last: unknown = row?.['last'];
  return typeof last === 'number' ? { after, upTo: last } : null;
}

/**
 * Find dead generations of a range, which can never become visible: they are not active, and neither a job in progress
 * nor a live reprojection is writing them.
 *
 * @param exceptBuckets ids of buckets whose generations to skip
 */
export async function findDeadGenerations(
  sql: Sql,
  range: GenerationRange,
  limit: number,
  exceptBuckets: readonly string[] = [],
): Promise<{ id: number; bucketId: string; artifactKey: string }[]> {
  return sql<{ id: number; bucketId: string; artifactKey: string }[]>`
    SELECT g.id, g.bucket_id AS "bucketId", g.artifact_key AS "artifactKey"
    FROM generations g LEFT JOIN documents d ON d.id = g.document_id
    WHERE g.id > ${range.after} AND g.id <= ${range.upTo} AND d.active_generation IS DISTINCT FROM g.id
      AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = g.job_id AND jobs.generation = g.id
                      AND ${isInProgress(sql)})
      AND d.stored_generation IS DISTINCT FROM g.id
      AND NOT EXISTS (SELECT 1 FROM reprojections r WHERE r.id = g.job_id AND d.active_generation = g.replaces
                      AND ${isRunAlive(sql)})
      AND g.bucket_id <> ALL(${sql.array([...exceptBuckets])}::text[])
    ORDER BY g.id LIMIT ${limit}`;
}

export async function forgetGenerations(sql: Sql, ids: readonly number[]): Promise<void> {
  await sql`DELETE FROM generations WHERE id = ANY(${sql.array([...ids])}::bigint[])`;
}

/** Origin of a document's vectors. */
export interface VectorFacts {
  readonly model: string;
  /** Revision of the model; null if it was not recorded. */
  readonly revision: string | null;
  readonly space: string;
  readonly mapVersion: number | null;
  /** Dimension of the stored native vectors; null if they are not stored. */
  readonly nativeDimension: number | null;
  /** False if the chunks are imported vectors without text, which can't be re-embedded. */
  readonly hasText: boolean;
}

/** Select the facts of a generation `g`. */
export function vectorColumns(sql: Sql): SqlFragment {
  return sql`
    g.embed_model AS model, g.embed_revision AS revision, g.space, g.map_version AS "mapVersion",
    g.native_dimension AS "nativeDimension", g.has_text AS "hasText"`;
}

/** Group of searchable documents with the same vector origin. */
export interface LiveGroup extends VectorFacts {
  readonly documents: number;
  readonly chunks: number;
}

/** Group the searchable documents of a bucket by the origin of their vectors. */
export async function selectLiveGroups(sql: Sql, orgId: string, bucketId: string): Promise<LiveGroup[]> {
  return sql<LiveGroup[]>`
    SELECT ${vectorColumns(sql)},
           count(*)::int AS documents, sum(g.chunks_count)::bigint AS chunks
    FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.org_id = ${orgId} AND d.bucket_id = ${bucketId} AND d.status <> 'deleting'
    GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 4, 6`;
}

/** Delete all records of a bucket's tables, so that none is created again. Call in a transaction. */
export async function forgetIndex(tx: Sql, bucketId: string): Promise<void> {
  await tx`DELETE FROM index_tables WHERE bucket_id = ${bucketId}`;
  await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId}`;
  await tx`DELETE FROM retired_index_tables WHERE bucket_id = ${bucketId}`;
}

/** List the buckets of an organization that have searchable vectors, with their models, by name. */
export async function listBucketModels(
  sql: Sql,
  orgId: string,
): Promise<{ id: string; name: string; model: string }[]> {
  const rows = await sql<{ id: string; name: string; model: string | null; space: string }[]>`
    SELECT DISTINCT b.name, b.id, t.model, t.space
    FROM buckets b JOIN index_tables t ON t.bucket_id = b.id
    JOIN documents d ON d.bucket_id = b.id AND d.status <> 'deleting'
    JOIN generations g ON g.id = d.active_generation
    WHERE b.org_id = ${orgId} AND b.deleting_at IS NULL AND t.space IS NOT NULL
    ORDER BY 1`;
  return rows.map(({ id, name, model, space }) => ({ id, name, model: model ?? modelOfSpace(space) ?? LEXICAL_ID }));
}
