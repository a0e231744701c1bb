import type { DocumentView } from '../../src/documents/schema.ts';
import type { CancelReply } from '../../src/jobs/schema.ts';
import type { BulkEditReply, EditReply } from '../../src/metadata/schema.ts';
import type { Bulk, CallerName, Edit, Upload, Where } from './operations.ts';
import {
  AUTH_LEVELS,
  type Change,
  type Event,
  endJobs,
  isFound,
  isSeen,
  type JobEnd,
  type JobEnds,
  matches,
  openJobs,
  type Possible,
  planChange,
  type State,
  settleStatus,
} from './state.ts';

/** What of a document never changes. */
export interface KnownDocument {
  readonly id: string;
  readonly bucket: number;
  readonly collection: number | null;
  /** Which text it has. */
  readonly text: number;
  /** No attempt at ingesting it succeeds. */
  readonly isBad: boolean;
}

/** What an answer says of each document; null: nothing. */
export type EventOf = (document: KnownDocument) => Event | null;

const only = (isFitting: boolean, state: Possible): readonly Possible[] => (isFitting ? [state] : []);

function withJob(state: State, id: string): readonly State[] {
  return state.jobs[id] === false ? [] : [{ ...state, jobs: { ...state.jobs, [id]: true } }];
}

function sameMetadata(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

const isDuplicable = (state: Possible, caller: CallerName) => isSeen(state, caller) && state.status !== 'failed';

/** @param job of the new document */
export function uploaded(upload: Upload, text: number, id: string, job: string): EventOf {
  const { scope = null, ...patch } = upload.metadata;
  const metadata = Object.fromEntries(
    Object.entries(patch).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  const born: State = {
    ...{ isThere: true, metadata, scope, searchable: true, isActive: false, status: 'working' },
    level: Math.min(upload.level, AUTH_LEVELS[upload.caller]),
    jobs: { [job]: true },
  };
  return (document) => {
    if (document.id === id) return (state) => (state === null ? [born] : []);
    const isSame = document.text === text && document.bucket === upload.bucket;
    if (!isSame || upload.onDuplicate === 'allow') return null;
    return (state) => only(!isDuplicable(state, upload.caller), state);
  };
}

/** The same bytes were there, as this document: the oldest that the caller sees and that did not fail. */
export function duplicated(upload: Upload, text: number, id: string): EventOf {
  return (document) => {
    if (document.text !== text || document.bucket !== upload.bucket || document.id > id) return null;
    return (state) => only(isDuplicable(state, upload.caller) === (document.id === id), state);
  };
}

export function edited(edit: Edit, id: string, answer: EditReply | string): EventOf {
  const { caller } = edit;
  const event: Event = (state) => {
    const isAbove = state?.isThere === true && state.level > AUTH_LEVELS[caller];
    if (answer === 'auth_level_too_low') return only(isAbove, state);
    if (answer === 'document_not_found') return only(!isAbove && !isSeen(state, caller), state);
    if (typeof answer === 'string' || !isSeen(state, caller)) return [];
    const plan = planChange(state, { ...edit, searchable: null });
    const after = plan?.after ?? state;
    const isFitting =
      sameMetadata(after.metadata, answer.metadata) &&
      answer.reindex_queued === (plan?.isReindexed ?? false) &&
      answer.indexed_vectors_deleted > 0 === (state.isActive && !after.isActive);
    if (!isFitting) return [];
    return answer.reindex_job_id === null ? [after] : withJob(after, answer.reindex_job_id);
  };
  return (document) => (document.id === id ? event : null);
}

export function bulkEdited(bulk: Bulk, reply: BulkEditReply): EventOf {
  const items = new Map(reply.items.map((item) => [item.id, item]));
  const change: Change = bulk;
  return ({ id, bucket }) => {
    if (bucket !== bulk.bucket) return null;
    const item = items.get(id);
    return (state, ends) => {
      if (!isSeen(state, bulk.caller) || !matches(bulk.where, state)) return only(item === undefined, state);
      // One that was queued just then may go on.
      const ended = bulk.searchable === false ? openJobs(state).filter((job) => isCancelled(ends(job))) : [];
      const isSettled = ended.length > 0 && state.status === 'working';
      const plan = planChange(state, change);
      const planned = endJobs(plan?.after ?? state, ended);
      const after = isSettled ? settleStatus(planned) : planned;
      if (plan === null || item === undefined) return only(plan === null && item === undefined, after);
      const isFitting =
        sameMetadata(after.metadata, item.metadata) &&
        item.searchable === after.searchable &&
        (item.reindex_job_id !== null) === plan.isReindexed &&
        item.indexed_vectors_deleted > 0 === (state.isActive && !after.isActive);
      if (!isFitting) return [];
      return item.reindex_job_id === null ? [after] : withJob(after, item.reindex_job_id);
    };
  };
}

const isCancelled = (end: JobEnd) => end === 'cancelled' || end === 'gone';

/** Taken away by a statement that named what it took. */
export function hardDeleted(bucket: number, where: Where, ids: readonly string[], reply: BulkEditReply): EventOf {
  const taken = new Set(reply.items.map((item) => item.id));
  return (document) => {
    if (document.bucket !== bucket) return null;
    return (state, ends) => {
      const isMatched = state?.isThere === true && matches(where, state) && ids.includes(document.id);
      return isMatched && taken.has(document.id)
        ? goneFrom(state, ends)
        : only(isMatched === taken.has(document.id), state);
    };
  };
}

/** @param isTaken false: it was not found */
export function deleted(id: string, isTaken: boolean): EventOf {
  // Of two deletions at once both may have seen it.
  const event: Event = (state, ends) =>
    state?.isThere ? (isTaken ? goneFrom(state, ends) : []) : only(state !== null, state);
  return (document) => (document.id === id ? event : null);
}

function goneFrom(state: State, ends: JobEnds): readonly State[] {
  const open = openJobs(state);
  if (open.some((job) => ends(job) === 'ready')) return [];
  return [{ ...endJobs(state, open), isThere: false, isActive: false }];
}

/** An event of the document that a job is of; of one that is gone, anything may be. */
function ofJob(owner: string, event: (state: State, ends: JobEnds) => readonly Possible[]): EventOf {
  return ({ id }) => {
    if (id !== owner) return null;
    return (state, ends) => (state === null ? [] : state.isThere ? event(state, ends) : [state]);
  };
}

export function cancelled(owner: string, job: string, answer: CancelReply | string): EventOf {
  return ofJob(owner, (state, ends) => {
    if (answer === 'job_not_found') return only(ends(job) === 'gone', state);
    if (answer === 'job_in_progress') return only(state.jobs[job] === true, state);
    if (typeof answer === 'string') return [state];
    if (answer.detail !== undefined) return only(state.jobs[job] === false, state);
    const isFitting = state.jobs[job] === true && isCancelled(ends(job));
    return only(isFitting, settleStatus(endJobs(state, [job])));
  });
}

/** @param answer the new job, or why there is none */
export function reprocessed(owner: string, job: string, answer: { id: string } | string): EventOf {
  return ({ id }) => {
    if (id !== owner) return null;
    return (state, ends) => {
      if (answer === 'document_not_found') return only(state?.isThere === false, state);
      if (answer === 'job_not_found') return only(ends(job) === 'gone', state);
      if (answer === 'job_not_terminal')
        return only(state !== null && (!state.isThere || state.jobs[job] === true), state);
      if (typeof answer === 'string' || !state?.isThere || state.jobs[job] !== false) return [];
      return withJob({ ...state, status: state.status === 'failed' ? 'working' : state.status }, answer.id);
    };
  };
}

/** @param answer null: it was done */
export function jobDeleted(owner: string, job: string, answer: string | null): EventOf {
  return ofJob(owner, (state, ends) => {
    if (answer === 'job_not_found') return only(ends(job) === 'gone', state);
    if (answer !== null) return only(state.jobs[job] === true, state);
    return [state.jobs[job] ? settleStatus(endJobs(state, [job])) : state];
  });
}

/** What a search is about beside its words. */
export interface Narrowing {
  readonly collection: number | null;
  readonly team: string | null;
}

/** @param results metadata of each document that was found */
export function searched(
  { bucket, text, caller, narrowing }: { bucket: number; text: number; caller: CallerName; narrowing: Narrowing },
  results: ReadonlyMap<string, Readonly<Record<string, string>>>,
): EventOf {
  return (document) => {
    const metadata = results.get(document.id);
    if (document.bucket !== bucket) return metadata === undefined ? null : () => [];
    if (document.text !== text && metadata === undefined) return null;
    const isInside = narrowing.collection === null || document.collection === narrowing.collection;
    return (state) => {
      const isWanted =
        isFound(state, caller) &&
        isInside &&
        (narrowing.team === null || state.metadata['team'] === narrowing.team) &&
        (metadata === undefined || sameMetadata(state.metadata, metadata));
      return only(isWanted === (metadata !== undefined), state);
    };
  };
}

export function listed(bucket: number, caller: CallerName, views: readonly DocumentView[]): EventOf {
  const shown = new Map(views.map((view) => [view.id, view]));
  return (document) => {
    const view = shown.get(document.id);
    if (document.bucket !== bucket) return view === undefined ? null : () => [];
    return (state) =>
      only(view === undefined ? !isSeen(state, caller) : isSeen(state, caller) && shows(view, state), state);
  };
}

function shows(view: DocumentView, state: State): boolean {
  const status = view.status === 'queued' || view.status === 'processing' ? 'working' : view.status;
  return (
    sameMetadata(state.metadata, view.metadata) &&
    view.privacy_level === state.level &&
    view.scope === state.scope &&
    view.searchable === state.searchable &&
    status === state.status &&
    (view.chunks_count !== null) === state.isActive
  );
}
