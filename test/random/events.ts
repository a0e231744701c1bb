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

/** Properties of a document that never change. */
export interface KnownDocument {
  readonly id: string;
  readonly bucket: number;
  readonly collection: number | null;
  /** Number of its text. */
  readonly text: number;
  /** True if no attempt to ingest it succeeds. */
  readonly isBad: boolean;
}

/** Function that returns the event of an answer for each document, or null if there is none. */
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

/** Return the events of an upload. @param job id of the job of the new document */
export function uploaded(upload: Upload, text: number, id: string, job: string): EventOf {
  const { scope = null, ...patch } = upload.metadata;
  const metadata = Object.fromEntries(
    Object.entries(patch).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  const created: State = {
    ...{ exists: true, metadata, scope, searchable: true, isActive: false, status: 'working' },
    level: Math.min(upload.level, AUTH_LEVELS[upload.caller]),
    jobs: { [job]: true },
  };
  return (document) => {
    if (document.id === id) return (state) => (state === null ? [created] : []);
    const isSame = document.text === text && document.bucket === upload.bucket;
    if (!isSame || upload.onDuplicate === 'allow') return null;
    return (state) => only(!isDuplicable(state, upload.caller), state);
  };
}

/**
 * Return the events of an upload of known bytes: `id` must be the oldest such document that is visible and not failed.
 */
export function duplicated(upload: Upload, text: number, id: string): EventOf {
  return (document) => {
    if (document.text !== text || document.bucket !== upload.bucket || document.id > id) return null;
    return (state) => only(isDuplicable(state, upload.caller) === (document.id === id), state);
  };
}

export function edited(edit: Edit, id: string, answer: EditReply | string): EventOf {
  const { caller } = edit;
  const event: Event = (state) => {
    const isAbove = state?.exists === true && state.level > AUTH_LEVELS[caller];
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

/** Warnings of documents that a bulk edit lists as skipped. */
const SKIPPED = new Set(['it already has these values', 'it is being deleted']);

export function bulkEdited(bulk: Bulk, reply: BulkEditReply): EventOf {
  const changed = reply.items.filter(({ warnings }) => !warnings.some((warning) => SKIPPED.has(warning)));
  const items = new Map(changed.map((item) => [item.id, item]));
  const change: Change = bulk;
  return ({ id, bucket }) => {
    if (bucket !== bulk.bucket) return null;
    const item = items.get(id);
    return (state, ends) => {
      if (!isSeen(state, bulk.caller) || !matches(bulk.where, state)) return only(item === undefined, state);
      // A job that was queued at the same time may continue.
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

/** Return the events of a HARDDELETE whose statement lists the ids. */
export function hardDeleted(bucket: number, where: Where, ids: readonly string[], reply: BulkEditReply): EventOf {
  const deletedIds = new Set(reply.items.map((item) => item.id));
  return (document) => {
    if (document.bucket !== bucket) return null;
    return (state, ends) => {
      const isMatched = state?.exists === true && matches(where, state) && ids.includes(document.id);
      return isMatched && deletedIds.has(document.id)
        ? afterDeletion(state, ends)
        : only(isMatched === deletedIds.has(document.id), state);
    };
  };
}

/** Return the event of a deletion. @param isDeleted false if the document was not found */
export function deleted(id: string, isDeleted: boolean): EventOf {
  // Two concurrent deletions may both have found the document.
  const event: Event = (state, ends) =>
    state?.exists ? (isDeleted ? afterDeletion(state, ends) : []) : only(state !== null, state);
  return (document) => (document.id === id ? event : null);
}

function afterDeletion(state: State, ends: JobEnds): readonly State[] {
  const open = openJobs(state);
  if (open.some((job) => ends(job) === 'ready')) return [];
  return [{ ...endJobs(state, open), exists: false, isActive: false }];
}

/** Return the event of a job for its document. For a deleted document any state is possible. */
function ofJob(owner: string, event: (state: State, ends: JobEnds) => readonly Possible[]): EventOf {
  return ({ id }) => {
    if (id !== owner) return null;
    return (state, ends) => (state === null ? [] : state.exists ? event(state, ends) : [state]);
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

/** Return the event of a reprocess. @param answer the new job, or the code of a refusal */
export function reprocessed(owner: string, job: string, answer: { id: string } | string): EventOf {
  return ({ id }) => {
    if (id !== owner) return null;
    return (state, ends) => {
      if (answer === 'document_not_found') return only(state?.exists === false, state);
      if (answer === 'job_not_found') return only(ends(job) === 'gone', state);
      if (answer === 'job_not_terminal')
        return only(state !== null && (!state.exists || state.jobs[job] === true), state);
      if (typeof answer === 'string' || !state?.exists || state.jobs[job] !== false) return [];
      return withJob({ ...state, status: state.status === 'failed' ? 'working' : state.status }, answer.id);
    };
  };
}

/** Return the event of the deletion of a job. @param answer code of a refusal, or null */
export function jobDeleted(owner: string, job: string, answer: string | null): EventOf {
  return ofJob(owner, (state, ends) => {
    if (answer === 'job_not_found') return only(ends(job) === 'gone', state);
    if (answer !== null) return only(state.jobs[job] === true, state);
    return [state.jobs[job] ? settleStatus(endJobs(state, [job])) : state];
  });
}

/** Restrictions of a search. */
export interface Narrowing {
  readonly collection: number | null;
  readonly team: string | null;
}

/** Return the events of a search. @param results metadata of each found document */
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
