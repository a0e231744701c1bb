import type { Access } from '../access/open-access.ts';
import type { Bulk } from '../bulk/open-bulk.ts';
import type { Documents } from '../documents/open-documents.ts';
import type { Embedding } from '../embedding/open-embedding.ts';
import type { Ingest } from '../ingest/open-ingest.ts';
import type { Jobs } from '../jobs/open-jobs.ts';
import type { Metadata } from '../metadata/open-metadata.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Calibration } from '../projection/open-calibration.ts';
import type { OpenProjections } from '../projection/open-projections.ts';
import type { Recognition } from '../recognition/open-recognition.ts';
import type { Search } from '../search/open-search.ts';
import type { Usage } from '../usage/open-usage.ts';
import type { Readiness } from './check-ready.ts';
import type { Stores } from './stores.ts';

/** A running installation, part by part. Commands, routes and tests start here. */
export interface Appliance extends Stores {
  readonly config: Config;
  readonly access: Access;
  readonly usage: Usage;
  readonly projections: OpenProjections;
  readonly calibration: Calibration;
  readonly recognition: Recognition;
  readonly embedding: Embedding;
  readonly search: Search;
  readonly documents: Documents;
  readonly bulk: Bulk;
  readonly ingest: Ingest;
  readonly metadata: Metadata;
  readonly jobs: Jobs;
  /** Chores of every part, at most `everyMs` between two rounds (default: one minute). */
  chores(options?: { readonly everyMs?: number }): Chore[];
  /** A service that does the chores: lease recovery, and removal of what is deleted or left over. */
  reaper(options?: { readonly everyMs?: number }): Service;
  /** State of each part: it works, or what is wrong with it. */
  checkReady(): Promise<Readiness>;
  close(): Promise<void>;
}
