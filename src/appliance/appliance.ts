import type { Access } from '../access/open-access.ts';
import type { Answers } from '../answers/open-answers.ts';
import type { Backup } from '../backup/open-backup.ts';
import type { Batches } from '../batches/open-batches.ts';
import type { Bulk } from '../bulk/open-bulk.ts';
import type { Channels } from '../channels/open-channels.ts';
import type { Documents } from '../documents/open-documents.ts';
import type { Embedding } from '../embedding/open-embedding.ts';
import type { Files } from '../files/open-files.ts';
import type { Ingest } from '../ingest/open-ingest.ts';
import type { Insight } from '../insight/open-insight.ts';
import type { Jobs } from '../jobs/open-jobs.ts';
import type { LocalModels } from '../local-models/open-local-models.ts';
import type { Memory } from '../memory/open-memory.ts';
import type { Metadata } from '../metadata/open-metadata.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Calibration } from '../projection/open-calibration.ts';
import type { OpenProjections } from '../projection/open-projections.ts';
import type { Recognition } from '../recognition/open-recognition.ts';
import type { Rerankers } from '../rerank/open-rerankers.ts';
import type { Search } from '../search/open-search.ts';
import type { Usage } from '../usage/open-usage.ts';
import type { VectorStores } from '../vector-stores/open-vector-stores.ts';
import type { Webhooks } from '../webhooks/open-webhooks.ts';
import type { Workflows } from '../workflows/open-workflows.ts';
import type { Readiness } from './check-ready.ts';
import type { Stores } from './stores.ts';

/** Parts of an installation that every process opens. */
export interface ApplianceBase extends Stores {
  readonly config: Config;
  readonly access: Access;
}

/** Parts of an installation that a process opens on demand. */
export interface ApplianceParts {
  readonly metrics: Metrics;
  readonly usage: Usage;
  readonly projections: OpenProjections;
  readonly calibration: Calibration;
  readonly recognition: Recognition;
  readonly localModels: LocalModels;
  readonly embedding: Embedding;
  readonly rerankers: Rerankers;
  readonly insight: Insight;
  readonly search: Search;
  readonly answers: Answers;
  readonly documents: Documents;
  readonly bulk: Bulk;
  readonly files: Files;
  readonly batches: Batches;
  readonly ingest: Ingest;
  readonly metadata: Metadata;
  readonly vectorStores: VectorStores;
  readonly channels: Channels;
  readonly webhooks: Webhooks;
  readonly workflows: Workflows;
  readonly memory: Memory;
  readonly jobs: Jobs;
  readonly backup: Backup;
}

export type PartName = keyof ApplianceParts;

/** Installation with at least some open parts. */
export type ApplianceWith<Part extends PartName> = ApplianceBase & Pick<ApplianceParts, Part>;

/** Running installation with all its parts, the entry point of services, routes and tests. */
export interface Appliance extends ApplianceBase, ApplianceParts {
  /** List the chores of every part, with at most `everyMs` between runs (default: one minute). */
  chores(options?: { readonly everyMs?: number }): Chore[];
  /** Create the service that runs the chores: lease recovery, and removal of deleted and orphaned data. */
  reaper(options?: { readonly everyMs?: number }): Service;
  /** Check each part. The result describes each fault. */
  checkReady(): Promise<Readiness>;
  close(): Promise<void>;
}
