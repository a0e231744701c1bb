import { StatementBatcher } from '../platform/postgres/statement-batcher.ts';
import type { Sql } from '../platform/postgres.ts';
import { finishIngests, type IngestOutcome, type WrittenIngest } from './finish-store.ts';
import { type NewGeneration, registerGenerations } from './generation-store.ts';
import { type ClaimedIngest, findSources, type IngestSource } from './source-store.ts';

/** Statements of ingest jobs. Many small documents are ingested at a time, and those that are as far share a statement. */
export interface IngestStatements {
  /** Read the document of a held job, as `findSources`. */
  findSource(claimed: ClaimedIngest): Promise<IngestSource | null>;
  /** Register a generation before anything of it is written. @returns false if its document is deleted or being deleted */
  register(generation: NewGeneration): Promise<boolean>;
  /** Finish a job, as `finishIngests`. */
  finish(written: WrittenIngest): Promise<IngestOutcome>;
}

export function ingestStatements(sql: Sql): IngestStatements {
  const sources = new StatementBatcher((claimed: readonly ClaimedIngest[]) => findSources(sql, claimed));
  const registers = new StatementBatcher(async (generations: readonly NewGeneration[]) => {
    const known = await registerGenerations(sql, generations);
    return generations.map(({ id }) => known.has(id));
  });
  const finishes = new StatementBatcher((written: readonly WrittenIngest[]) => finishIngests(sql, written));
  return {
    findSource: (claimed) => sources.call(claimed),
    register: (generation) => registers.call(generation),
    finish: (written) => finishes.call(written),
  };
}
