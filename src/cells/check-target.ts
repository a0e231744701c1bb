import { selectOrganization } from '../access/organization-store.ts';
import type { Backends } from '../embedding/backends.ts';
import { conflict } from '../platform/errors.ts';
import { listAppliedMigrations } from '../platform/migrate.ts';
import type { Sql } from '../platform/postgres.ts';
import { type ConnectionSettings, mayUse } from '../platform/source-settings.ts';
import { KEYWORD_ONLY, mapInto, modelOfSpace, nativeSpaceOf, type Projections } from '../projection/projections.ts';
import { selectSpace } from '../projection/store.ts';
import { findImport, selectTaken } from './import-store.ts';
import type { Manifest, Needs } from './schema.ts';

/** Parts of the target installation that an organization may need. */
export interface TargetParts {
  readonly sql: Sql;
  readonly backends: Pick<Backends, 'catalog' | 'isAvailable'>;
  readonly projections: Projections;
  /** Connections in the settings, by name. */
  readonly connections: Readonly<Record<string, ConnectionSettings>>;
  /** Index engines that are available here. */
  readonly engines: readonly string[];
}

/**
 * Refuse an export that this installation can't import. The error lists everything that is missing.
 * @param name name of the organization on this installation
 * @throws AppError `export_other_version`, `organization_exists`, `target_lacks` (409)
 */
export async function checkTarget(target: TargetParts, manifest: Manifest, name: string): Promise<void> {
  await requireSameVersion(target.sql, manifest);
  await requireFree(target.sql, manifest, name);
  const lacks = await findLacks(target, manifest.needs, name);
  if (lacks.length === 0) return;
  const lines = lacks.map((each) => `\n  - ${each}`);
  throw conflict(
    `this installation lacks what the organization needs; add it, and run the command again:${lines.join('')}`,
    'target_lacks',
  );
}

async function requireSameVersion(sql: Sql, { needs, service_version: theirs }: Manifest): Promise<void> {
  const mine = (await listAppliedMigrations(sql)).at(-1)?.version ?? 0;
  if (mine === needs.schema_version) return;
  const newer = mine < needs.schema_version ? 'this installation' : 'the source';
  throw conflict(
    `the export was made by release ${theirs} with migration ${needs.schema_version}, but the newest migration here is ${mine}; upgrade ${newer} to the release of the other one, and if you upgrade the source, export again`,
    'export_other_version',
  );
}

async function requireFree(sql: Sql, { move_id: moveId, organization, key_ids: keyIds }: Manifest, name: string) {
  const { id } = organization;
  const mine = await selectOrganization(sql, id);
  if (mine?.id === id && (await findImport(sql, { moveId }))?.orgId !== id) {
    const todo =
      mine.move_state === null
        ? 'it is served here; import it into another installation'
        : `it is left over from another move; remove it with "service orgs delete ${mine.name}"`;
    throw conflict(`this installation has the organization ${id} (${mine.name}): ${todo}`, 'organization_exists');
  }
  const other = await selectOrganization(sql, name);
  if (other !== null && other.id !== id) {
    throw conflict(
      `this installation has another organization named ${name}; choose a name for the arriving one with --name`,
      'organization_exists',
    );
  }
  const taken = await selectTaken(sql, id, keyIds);
  if (taken.length === 0) return;
  throw conflict(
    `API keys of another organization here have the ids ${taken.join(', ')}; rotate these keys at the source, and export again`,
    'organization_exists',
  );
}

async function findLacks(target: TargetParts, needs: Needs, name: string): Promise<string[]> {
  const { backends, connections, engines } = target;
  const lacks: string[] = [];
  for (const each of needs.vectors) lacks.push(...(await lackOfVectors(target, needs, each)));
  for (const id of needs.routing) {
    if (backends.catalog.get(id) === undefined) lacks.push(`model ${id}, which its routing names: ${howToAdd(id)}`);
  }
  for (const engine of needs.engines) {
    if (!engines.includes(engine)) {
      lacks.push(
        `engine ${engine}: set index.${engine}.url, or move the buckets at the source ("service index move --engine lance")`,
      );
    }
  }
  for (const connection of needs.connections) {
    const own = Object.hasOwn(connections, connection) ? connections[connection] : undefined;
    if (own === undefined || !mayUse(own, name)) {
      lacks.push(`connection ${connection} of its sources: add it under sources in service.yaml, for ${name}`);
    }
  }
  return lacks;
}

async function lackOfVectors(
  { sql, backends, projections }: TargetParts,
  { spaces }: Needs,
  { bucket, model: id, space }: Needs['vectors'][number],
): Promise<string[]> {
  if (space === KEYWORD_ONLY) return [];
  const model = backends.catalog.get(id) ?? backends.catalog.get(modelOfSpace(space) ?? '');
  if (model === undefined || !backends.isAvailable(model)) {
    return [`model ${id}, of the bucket ${bucket}: ${howToAdd(id)}`];
  }
  const mine = await selectSpace(sql, space);
  const theirs = spaces.find((each) => each.id === space);
  const isSame = theirs === undefined || (mine !== null && Buffer.from(mine.sha256).toString('hex') === theirs.sha256);
  if (isSame && mapInto(projections, model, space) !== undefined) return [];
  return [
    theirs === undefined
      ? `revision of the model ${id} in ${space}, of the bucket ${bucket}; here it is in ${nativeSpaceOf(model)}: use the same revision, or move the bucket to a model of both at the source ("service index reembed")`
      : `map of the model ${id} into ${space}, of the bucket ${bucket}, which each installation fits for itself: at the source, retire the map ("service projections retire") and move the bucket off it ("service index reembed")`,
  ];
}

function howToAdd(model: string): string {
  return model.startsWith('local/')
    ? `install it ("service models install ${model}")`
    : 'add its vendor in service.yaml, or with POST /v1/vendors';
}
