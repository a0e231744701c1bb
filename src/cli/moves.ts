import { Flags } from '@oclif/core';
import { operatorActor } from '../access/operator.ts';
import type { Appliance } from '../appliance/appliance.ts';
import type { ImportContext } from '../cells/import-organization.ts';
import type { MoveContext, MoveOptions } from '../cells/move-context.ts';
import { osUserName } from '../platform/os-user.ts';

/** Flag for the key file of an export, which both installations get. */
export const keyFileFlag = Flags.string({
  description: 'file with the key that encrypts stored credentials in the export and signs it',
  required: true,
});

/** Flag for the location of an export. */
export const placeFlag = Flags.string({ description: 'folder or s3://bucket/prefix/ of the export', required: true });

/** Select the parts of an installation that moves need. */
export function moveContextOf({ sql, direct, objects, keyRing, backup }: Appliance): MoveContext {
  const { installationId, migrations } = backup;
  return { sql, direct, objects, keyRing, installationId, migrations };
}

/** Select the parts of an installation that imports need. */
export function importContextOf(appliance: Appliance): ImportContext {
  const { sql, config, embedding, projections, ingest } = appliance;
  return {
    ...moveContextOf(appliance),
    reindex: ingest.reindex,
    target: {
      sql,
      projections,
      backends: embedding.backends,
      connections: config.sources,
      engines: config.index.milvus === null ? ['lance'] : ['lance', 'milvus'],
    },
  };
}

/** Open the location of an export, and run work on it while showing its progress. */
export async function withPlace<T>(
  { config, logger }: Pick<Appliance, 'config' | 'logger'>,
  flags: { readonly 'key-file': string; readonly creates: boolean },
  signal: AbortSignal,
  work: (options: MoveOptions) => Promise<T>,
): Promise<T> {
  const { readExportKey } = await import('../cells/export-key.ts');
  const { requireLocation, withSteps, withTarget } = await import('./backups.ts');
  const { creates } = flags;
  const key = readExportKey(flags['key-file'], { creates });
  const actor = operatorActor(osUserName());
  return withTarget(config, requireLocation(config), { logger, creates }, (place) =>
    withSteps((onProgress) => work({ place, key, actor, signal, onProgress })),
  );
}
