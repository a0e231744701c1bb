import type { EventOf, KnownDocument } from './events.ts';
import type { Ref } from './operations.ts';
import { afterAll, type JobEnds, type Possible, type State } from './state.ts';

export interface KnownJob {
  readonly id: string;
  readonly documentId: string;
}

/** An operation that was answered. */
export interface Trace {
  /** What was asked, and the answer. */
  readonly label: string;
  readonly eventOf: EventOf;
  readonly born?: KnownDocument;
  readonly jobs?: readonly KnownJob[];
  /** Documents that the answer shows. */
  readonly shown?: readonly string[];
  /** Chunks that the answer shows. */
  readonly chunks?: readonly string[];
}

/** What is there is not what the operations have made, in whatever order they took effect. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** All that the installation should hold, in memory. */
export class Model {
  readonly documents: KnownDocument[] = [];
  readonly #jobs: KnownJob[] = [];
  /** Of each text, how many chunks it makes; filled as they are seen. */
  readonly #chunksOf = new Map<number, number>();
  /** As of the last time that everything was compared. */
  readonly #possible = new Map<string, readonly Possible[]>();
  /** Since then. */
  #steps: (readonly Trace[])[] = [];
  texts = 0;

  addStep(traces: readonly Trace[]): void {
    this.#steps.push(traces);
    for (const { born, jobs = [] } of traces) {
      if (born) this.documents.push(born);
      // An edit may be answered by a job that waits already.
      for (const job of jobs) if (!this.#jobs.some(({ id }) => id === job.id)) this.#jobs.push(job);
    }
    const known = new Set(this.documents.map(({ id }) => id));
    for (const { label, shown = [] } of traces) {
      const strange = shown.filter((id) => !known.has(id));
      if (strange.length > 0) throw new Mismatch(`${label} shows what nobody has uploaded: ${strange.join(', ')}`);
    }
  }

  /** The newest come first; those known to be gone are left out. */
  pickDocument(ref: Ref): KnownDocument | null {
    const left = this.left();
    return left[left.length - 1 - Math.floor(ref * left.length)] ?? null;
  }

  pickJob(ref: Ref): KnownJob | null {
    const left = this.#jobs.filter(({ documentId }) => this.#isLeft(documentId));
    return left[left.length - 1 - Math.floor(ref * left.length)] ?? null;
  }

  /** Documents that are not known to be gone. */
  left(): KnownDocument[] {
    return this.documents.filter(({ id }) => this.#isLeft(id));
  }

  #isLeft(id: string): boolean {
    const possible = this.#possible.get(id);
    return possible === undefined || possible.some((state) => state?.isThere);
  }

  /** A text makes the same chunks each time, and they are found together. */
  noteChunks(text: number, count: number, label: string): void {
    const known = this.#chunksOf.get(text) ?? count;
    this.#chunksOf.set(text, known);
    if (known !== count) throw new Mismatch(`${label}: ${count} chunks of a text that has ${known}`);
  }

  /**
   * Hold everything since the last time against what the answers said and `final` shows, now that nothing is under way.
   *
   * @returns documents that are there, with what each is
   * @throws Mismatch
   */
  settle(ends: JobEnds, final: readonly Trace[]): Map<string, { document: KnownDocument; state: State }> {
    const left = new Map<string, { document: KnownDocument; state: State }>();
    for (const document of this.documents) {
      const states = this.#follow(document, ends, final);
      this.#possible.set(document.id, states);
      const [state] = states;
      if (state?.isThere) left.set(document.id, { document, state });
    }
    this.#steps = [];
    return left;
  }

  #follow(document: KnownDocument, ends: JobEnds, final: readonly Trace[]): Possible[] {
    let states: readonly Possible[] = this.#possible.get(document.id) ?? [null];
    const story = [`${JSON.stringify(document)} was one of ${show(states)}`];
    const go = (traces: readonly Trace[]) => {
      const touching = traces.flatMap((trace) => trace.eventOf(document) ?? []);
      const lines = traces.filter((trace) => trace.eventOf(document) !== null).map(({ label }) => `  ${label}`);
      if (touching.length === 0) return;
      const before = states;
      states = afterAll(states, touching, ends, document.isBad);
      story.push('at once:', ...lines, `-> ${states.length} possible`);
      if (states.length > 0) return;
      const told = [...story, show(before)].join('\n');
      const jobs = [...new Set(told.match(/job_\w+/g))].map((job) => `${job} ${ends(job)}`);
      throw new Mismatch(`${story.join('\n')}\nno order of these fits ${show(before)}\njobs: ${jobs.join(', ')}`);
    };
    for (const step of this.#steps) go(step);
    // Nothing is under way any more.
    states = afterAll(states, [], ends, document.isBad).filter((state) => state === null || isAtRest(state));
    for (const trace of final) go([trace]);
    states = states.filter((state) => state === null || isAtRest(state));
    if (states.length === 0) throw new Mismatch(`${story.join('\n')}\nit is not at rest`);
    return [...states];
  }
}

function isAtRest(state: State): boolean {
  return !state.isThere || (state.status !== 'working' && Object.values(state.jobs).every((isOpen) => !isOpen));
}

function show(states: readonly Possible[]): string {
  return states
    .slice(0, 6)
    .map((state) => JSON.stringify(state))
    .join('\n        or ');
}
