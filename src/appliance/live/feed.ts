import { randomBytes } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { jobVisibleTo } from '../../documents/visibility.ts';
import { listModels } from '../../embedding/list-models.ts';
import { JobsSelector, type JobsSnapshot, type WatchedJob, watchJobs } from '../../jobs/watch.ts';
import { QUERY_MS, type Sql } from '../../platform/postgres.ts';
import { selectRecentRuns } from '../../workflows/run-store.ts';
import type { Appliance } from '../appliance.ts';
import type { Change, EventQueue, LiveEvent, Topic } from './events.ts';
import { selectDocumentChanges, selectLastAuditId, selectSourceStates } from './live-store.ts';

export type FeedContext = Pick<Appliance, 'sql' | 'queryShares' | 'embedding' | 'projections' | 'logger'>;

/** Maximum number of events that a feed keeps for reconnecting readers. */
const KEPT_EVENTS_MAX = 1_000;
/** Maximum number of document changes that one reading reports individually. More are reported as one. */
const DOCUMENTS_MAX = 200;
const SOURCES_MAX = 500;
const RUNS_MAX = 50;

/**
 * Changes that one caller may see, read about once a second for all its readers together. Every reading queries
 * PostgreSQL, so it also finds changes by other processes.
 */
export class Feed {
  readonly #context: FeedContext;
  readonly #caller: Caller;
  readonly #sql: Sql;
  readonly #intervalMs: () => number;
  readonly #name = randomBytes(6).toString('hex');
  readonly #readers = new Set<EventQueue>();
  readonly #kept: LiveEvent[] = [];
  readonly #stop = new AbortController();
  /** Last known state of each thing, by topic and id. */
  readonly #known = new Map<Topic, ReadonlyMap<string, string>>();
  readonly #entriesSeen = new Set<number>();
  #entriesAfter = 0;
  #sequence = 0;

  /** @param intervalMs returns the time until the next reading */
  constructor(context: FeedContext, caller: Caller, intervalMs: () => number) {
    this.#context = context;
    this.#caller = caller;
    const share = { gate: context.queryShares, owner: caller.orgId };
    this.#sql = context.sql.limited({ ms: QUERY_MS.report, signal: this.#stop.signal, share });
    this.#intervalMs = intervalMs;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /**
   * Add a reader. If the feed still has the reader's last event, the reader gets the events after it. Otherwise the
   * reader gets a note that changes are missing.
   */
  add(queue: EventQueue, lastEventId: string | null): void {
    this.#readers.add(queue);
    if (lastEventId === null) return;
    const at = this.#kept.findIndex(({ id }) => id === lastEventId);
    const isLatest = lastEventId === this.#idOf(this.#sequence);
    if (at === -1 && !isLatest) queue.push({ id: this.#idOf(this.#sequence), change: null });
    else if (at !== -1) for (const event of this.#kept.slice(at + 1)) queue.push(event);
  }

  remove(queue: EventQueue): void {
    this.#readers.delete(queue);
  }

  /** Read until the feed is closed or the database refuses. Finally end every reader's queue. */
  async run(): Promise<void> {
    const { logger } = this.#context;
    const { orgId } = this.#caller;
    const { signal } = this.#stop;
    const sql = this.#sql;
    const selector = new PacedSelector(this.#intervalMs);
    const visible = (tx: Sql) => jobVisibleTo(tx, this.#caller);
    try {
      this.#entriesAfter = await selectLastAuditId(sql);
      for await (const snapshot of watchJobs(sql, orgId, { visible, signal, selector })) {
        if (snapshot.trouble === null) await this.#read(snapshot);
      }
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'a feed of events ended');
    } finally {
      for (const queue of this.#readers) queue.end();
    }
  }

  close(): void {
    this.#stop.abort();
    for (const queue of this.#readers) queue.end();
  }

  async #read(snapshot: JobsSnapshot): Promise<void> {
    const { embedding, projections } = this.#context;
    const sql = this.#sql;
    const caller = this.#caller;
    this.#tellJobs(snapshot);
    for (const change of await this.#documentChanges()) this.#tell(change);
    const sources = await selectSourceStates(sql, caller, SOURCES_MAX);
    this.#compare(
      'sources',
      sources.map(({ id, state, changedAt }) => [id, changedAt, { sync_state: state }]),
    );
    const runs = await selectRecentRuns(sql, caller, RUNS_MAX);
    this.#compare(
      'runs',
      runs.map(({ run_id, workflow_id, status }) => [run_id, status, { workflow_id, status }]),
    );
    const models = listModels({ backends: embedding.backends, projections });
    this.#compare(
      'providers',
      models.map(({ id, available, status }) => [id, `${available} ${status}`, { available, status }]),
    );
  }

  #tellJobs(snapshot: JobsSnapshot): void {
    const { counts, live } = snapshot;
    const jobs = [...snapshot.jobs, ...snapshot.finished].map((job) => [job.id, stateOf(job), fieldsOf(job)] as const);
    const before = this.#known.get('jobs');
    const changed = this.#compare('jobs', jobs);
    if (snapshot.finished_more > 0) this.#tell({ topic: 'jobs', id: '*' });
    for (const job of [...snapshot.jobs, ...snapshot.finished]) {
      if (before === undefined || job.document_id === null || !changed.has(job.id)) continue;
      // Progress within a state doesn't change the document.
      if (before.get(job.id)?.split(' ')[0] === job.status) continue;
      this.#tell({ topic: 'documents', id: job.document_id, bucket_id: job.bucket_id });
    }
    this.#compare('queues', [['jobs', JSON.stringify(counts), { counts, live }]]);
  }

  async #documentChanges(): Promise<Change[]> {
    const rows = await selectDocumentChanges(
      this.#sql,
      this.#caller,
      this.#entriesAfter,
      DOCUMENTS_MAX + this.#entriesSeen.size,
    );
    const fresh = rows.filter(({ entry }) => !this.#entriesSeen.has(entry));
    for (const { entry } of fresh) this.#entriesSeen.add(entry);
    const isMore = fresh.length >= DOCUMENTS_MAX;
    const done = isMore ? rows.at(-1) : rows.findLast(({ isSettled }) => isSettled);
    if (done !== undefined) {
      this.#entriesAfter = done.entry;
      for (const entry of this.#entriesSeen) if (entry <= done.entry) this.#entriesSeen.delete(entry);
    }
    if (isMore) return [{ topic: 'documents', id: '*' }];
    return fresh.map(({ documentId, bucketId }) => ({ topic: 'documents', id: documentId, bucket_id: bucketId }));
  }

  /**
   * Report the differences from the last reading of a topic. The first reading only sets the state. Report missing
   * things with `gone`, except jobs, because only some of them are read.
   * @returns changed ids
   */
  #compare(topic: Topic, things: readonly (readonly [id: string, state: string, fields: object])[]): Set<string> {
    const before = this.#known.get(topic);
    const now = new Map(things.map(([id, state]) => [id, state]));
    this.#known.set(topic, now);
    const changed = new Set<string>();
    for (const [id, state, fields] of before === undefined ? [] : things) {
      if (before?.get(id) === state || changed.has(id)) continue;
      changed.add(id);
      this.#tell({ topic, id, ...fields });
    }
    if (topic === 'sources') {
      for (const id of before?.keys() ?? []) if (!now.has(id)) this.#tell({ topic, id, gone: true });
    }
    return changed;
  }

  #tell(change: Change): void {
    const event = { id: this.#idOf(++this.#sequence), change };
    this.#kept.push(event);
    if (this.#kept.length > KEPT_EVENTS_MAX) this.#kept.shift();
    for (const queue of this.#readers) queue.push(event);
  }

  #idOf(sequence: number): string {
    return `${this.#name}-${sequence}`;
  }
}

/** Selection of all live jobs, read at a varying interval. */
class PacedSelector extends JobsSelector {
  readonly #paceMs: () => number;

  constructor(paceMs: () => number) {
    super();
    this.#paceMs = paceMs;
  }

  override wait(_ms: number, signal: AbortSignal): Promise<void> {
    return super.wait(this.#paceMs(), signal);
  }
}

function stateOf({ status, progress, retry_count }: WatchedJob): string {
  return `${status} ${progress?.done} ${retry_count}`;
}

function fieldsOf({ status, kind, bucket_id, document_id, progress }: WatchedJob): object {
  return { status, kind, bucket_id, document_id, progress };
}
