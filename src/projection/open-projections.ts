import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { openProjectionRegistry, type ProjectionRegistry } from './registry.ts';

/** Active maps, refreshed until `close`. */
export interface OpenProjections extends ProjectionRegistry {
  close(): Promise<void>;
}

export async function openProjections(context: {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly logger: Logger;
}): Promise<OpenProjections> {
  const registry = openProjectionRegistry(context);
  await registry.refresh();
  await registry.service.start(new AbortController().signal);
  return { ...registry, close: () => registry.service.stop() };
}
