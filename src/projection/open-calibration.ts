import type { Model } from '../models/catalog.ts';
import type { Chore } from '../platform/chores.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { EmbedNative } from './calibration.ts';
import { checkCanaries } from './check-canaries.ts';
import type { ProjectionContext } from './fit-projection.ts';

const CANARIES_EVERY_MS = 3_600_000;
const CANARIES_AGE_MS = 24 * 3_600_000;

/** Dependencies of commands that fit, evaluate and activate maps, and chores of projections. */
export interface Calibration extends ProjectionContext {
  readonly chores: () => readonly Chore[];
}

export function openCalibration(context: {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly logger: Logger;
  readonly embedding: {
    readonly embedNative: EmbedNative;
    readonly backends: {
      readonly catalog: { find(id: string): Model };
      isAvailable(model: Model): boolean;
      providerOf(model: Model): unknown;
    };
  };
}): Calibration {
  const { sql, objects, threads, logger } = context;
  const { embedNative, backends } = context.embedding;
  const calibration: ProjectionContext = {
    sql,
    objects,
    threads,
    logger,
    embed: embedNative,
    findModel: (id) => backends.catalog.find(id),
    requireServed: (model) => void backends.providerOf(model),
  };
  return {
    ...calibration,
    chores: () => [
      {
        name: 'check of projections',
        everyMs: CANARIES_EVERY_MS,
        async run(signal) {
          const isServed = (model: Model) => backends.isAvailable(model);
          const embed: EmbedNative = (call) => embedNative({ ...call, isBackground: true });
          await checkCanaries({ ...calibration, embed, isServed }, { olderThanMs: CANARIES_AGE_MS, signal });
        },
      },
    ],
  };
}
