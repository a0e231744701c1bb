import type { EventOf, KnownDocument } from './events.ts';
import type { Ref } from './operations.ts';
import { afterAll, type JobEnds, type Possible, type State } from './state.ts';

export interface KnownJob {
  readonly id: string;
  readonly documentId: string;
}

/** Operation with its answer. */
export interface Trace {
  /** Description of the operation and the answer. */
  readonly label: string;
  readonly eventOf: EventOf;
  readonly created?: KnownDocument;
  readonly jobs?: readonly KnownJob[];
  /** Documents that the answer shows. */
  readonly shown?: readonly string[];
  /** Chunks that the answer shows. */
  readonly chunks?: readonly string[];
}

/** Error for a state that no order of the operations explains. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** Model in memory of the content of the installation. */
export class Model {
  readonly documents: KnownDocument[] = [];
  readonly #jobs: KnownJob[] = [];
  /** Number of chunks of each text, recorded when it is first found. */
  readonly #chunksOf = new Map<number, number>();
  /** Possible states of each document at the last comparison. */
  readonly #possible = new Map<string, readonly Possible[]>();
  /** Steps since the last comparison. */
  #steps: (readonly Trace[])[] = [];
  texts = 0;

  addStep(traces: readonly Trace[]): void {
    this.#steps.push(traces);
    for (const { created, jobs = [] } of traces) {
      if (created) this.documents.push(created);
      // An edit may be answered with a job that is already queued.
      for (const job of jobs) if (!this.#jobs.some(({ id }) => id === job.id)) this.#jobs.push(job);
    }
    const known = new Set(this.documents.map(({ id }) => id));
    for (const { label, shown = [] } of traces) {
      const unknown = shown.filter((id) => !known.has(id));
      if (unknown.length > 0)
        throw new Mismatch(`${label} shows documents that were never uploaded: ${unknown.join(', ')}`);
    }
  }

  /** Pick a document that is not known to be deleted; 0 is the newest. */
  pickDocument(ref: Ref): KnownDocument | null {
    const remaining = this.remaining();
    return remaining[remaining.length - 1 - Math.floor(ref * remaining.length)] ?? null;
  }

  pickJob(ref: Ref): KnownJob | null {
    const remaining = this.#jobs.filter(({ documentId }) => this.#mayExist(documentId));
    return remaining[remaining.length - 1 - Math.floor(ref * remaining.length)] ?? null;
  }

  /** Return the documents that are not known to be deleted. */
  remaining(): KnownDocument[] {
    return this.documents.filter(({ id }) => this.#mayExist(id));
  }

  #mayExist(id: string): boolean {
    const possible = this.#possible.get(id);
    return possible === undefined || possible.some((state) => state?.exists);
  }

  /** Check that a text always has the same number of chunks, which are found together. */
  noteChunks(text: number, count: number, label: string): void {
    const known = this.#chunksOf.get(text) ?? count;
    this.#chunksOf.set(text, known);
    if (known !== count) throw new Mismatch(`${label}: ${count} chunks of a text that has ${known}`);
  }

  /**
   * Compare all steps since the last comparison with their answers and with `final`, while no operation is in progress.
   *
   * @returns existing documents with their states
   * @throws Mismatch
   */
  settle(ends: JobEnds, final: readonly Trace[]): Map<string, { document: KnownDocument; state: State }> {
    const remaining = new Map<string, { document: KnownDocument; state: State }>();
    for (const document of this.documents) {
      const states = this.#follow(document, ends, final);
      this.#possible.set(document.id, states);
      const [state] = states;
      if (state?.exists) remaining.set(document.id, { document, state });
    }
    this.#steps = [];
    return remaining;
  }

  #follow(document: KnownDocument, ends: JobEnds, final: readonly Trace[]): Possible[] {
    let states: readonly Possible[] = this.#possible.get(document.id) ?? [null];
    const history = [`${JSON.stringify(document)} was one of ${show(states)}`];
    const apply = (traces: readonly Trace[]) => {
      const touching = traces.flatMap((trace) => trace.eventOf(document) ?? []);
      const lines = traces.filter((trace) => trace.eventOf(document) !== null).map(({ label }) => `  ${label}`);
      if (touching.length === 0) return;
      const before = states;
      states = afterAll(states, touching, ends, document.isBad);
      history.push('concurrently:', ...lines, `-> ${states.length} possible`);
      if (states.length > 0) return;
      const text = [...history, show(before)].join('\n');
      const jobs = [...new Set(text.match(/job_\w+/g))].map((job) => `${job} ${ends(job)}`);
      throw new Mismatch(`${history.join('\n')}\nno order of these fits ${show(before)}\njobs: ${jobs.join(', ')}`);
    };
    for (const step of this.#steps) apply(step);
    // No operation is in progress any more.
    states = afterAll(states, [], ends, document.isBad).filter((state) => state === null || isSettled(state));
    for (const trace of final) apply([trace]);
    states = states.filter((state) => state === null || isSettled(state));
    if (states.length === 0) throw new Mismatch(`${history.join('\n')}\nit is not settled`);
    return [...states];
  }
}

function isSettled(state: State): boolean {
  return !state.exists || (state.status !== 'working' && Object.values(state.jobs).every((isOpen) => !isOpen));
}

function show(states: readonly Possible[]): string {
  return states
    .slice(0, 6)
    .map((state) => JSON.stringify(state))
    .join('\n        or ');
}
