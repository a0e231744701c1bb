import type { Caller } from '../access/caller.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { startDeadline } from '../platform/deadline.ts';
import { invalidRequest } from '../platform/errors.ts';
import { FairGate } from '../platform/fair-gate.ts';
import { readEntries } from './entry-store.ts';
import { openReader, type ReaderContext } from './readers/open-reader.ts';
import {
  type EntryFault,
  keptByFaults,
  type ListedEntry,
  type ReaderState,
  SourceFault,
} from './readers/source-reader.ts';
import type { PreviewRequest, SourcePreview, SourceView } from './schema.ts';
import { findSource } from './source-store.ts';
import { checkConfig, requireConnection } from './sources.ts';
import { loadState } from './state-store.ts';

/** Time limit for listing. A preview shows only part of a larger source. */
const PREVIEW_MS = 15_000;
/** Maximum number of faults in a preview. */
const FAULTS_SHOWN = 10;
/** Rough averages for English or Korean text, with the tokens of a chunk without its overlap (`IngestOptions`). */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_CHUNK = 340;

/** Cache for readers that have none. */
const NO_STATE: ReaderState = { load: async () => null, save: async () => undefined };

export interface PreviewContext {
  readonly readers: ReaderContext;
  readonly embedder: Embedder;
  readonly gate: FairGate;
}

/** Create the gate that limits previews, each of which lists a whole source. */
export function openPreviewGate(): FairGate {
  return new FairGate({ runningMax: 4, runningOfOneMax: 2, waitingOfOneMax: 4 });
}

/**
 * List a source without reading its entries, and compare it with the previous synchronisation. Write nothing.
 *
 * @throws AppError `source_not_found` (404), 400 with the reason if the source can't be listed
 */
export function previewSource(
  { readers, embedder, gate }: PreviewContext,
  caller: Caller,
  request: PreviewRequest,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const run = async () => {
    const { sql } = readers;
    const source = request.source === undefined ? null : await findSource(sql, caller, request.source);
    const listed = await listSource(readers, caller, request, source, signal);
    const known = source === null || !listed.isComplete ? null : await knownVersions(readers, caller, source);
    const tokens = Math.ceil(listed.sizeBytes / BYTES_PER_TOKEN);
    return {
      entries: listed.entries.slice(0, request.limit).map(toPreviewed),
      is_complete: listed.isComplete,
      entries_count: listed.entries.length,
      size_bytes: listed.sizeBytes,
      tokens,
      chunks: chunksOf(listed.entries),
      cost_usd: await costOf(embedder, caller.orgId, tokens),
      changes: known === null ? null : compare(known, listed),
      faults: listed.faults.slice(0, FAULTS_SHOWN).map(toFault),
      faults_count: listed.faults.length,
    };
  };
  return gate.run(caller.orgId, run, () => signal);
}

interface Listed {
  readonly entries: ListedEntry[];
  readonly faults: EntryFault[];
  readonly sizeBytes: number;
  readonly isComplete: boolean;
}

async function listSource(
  readers: ReaderContext,
  caller: Caller,
  request: PreviewRequest,
  source: SourceView | null,
  signal: AbortSignal,
): Promise<Listed> {
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  let sizeBytes = 0;
  const deadline = startDeadline(PREVIEW_MS, signal);
  const limited = deadline.signal;
  try {
    const reader = await open(readers, caller, request, source);
    try {
      for await (const listing of reader.list(limited)) {
        for (const entry of listing.entries) {
          entries.push(entry);
          sizeBytes += entry.sizeBytes;
        }
        for (const fault of listing.faults) faults.push(fault);
        limited.throwIfAborted();
      }
    } finally {
      await reader.close();
    }
    return { entries, faults, sizeBytes, isComplete: true };
  } catch (error) {
    signal.throwIfAborted();
    if (limited.aborted) return { entries, faults, sizeBytes, isComplete: false };
    if (error instanceof SourceFault) throw invalidRequest(`the source cannot be listed: ${error.message}`);
    throw error;
  } finally {
    deadline.clear();
  }
}

async function open(readers: ReaderContext, caller: Caller, request: PreviewRequest, source: SourceView | null) {
  const { sql, connections } = readers;
  const { orgId } = caller;
  if (source !== null) {
    const load = () => loadState(sql, { orgId, id: source.id });
    return openReader(readers, { ...source, orgId }, { ...NO_STATE, load });
  }
  const name = request.connection ?? '';
  const { type } = await requireConnection(sql, connections, caller, name);
  return openReader(
    readers,
    { id: null, orgId, type, connection: name, config: checkConfig(type, request.config) },
    NO_STATE,
  );
}

async function knownVersions({ sql }: ReaderContext, { orgId }: Caller, { id }: SourceView) {
  const known = new Map<string, string>();
  for await (const page of readEntries(sql, orgId, id, '')) {
    for (const { key, version } of page) known.set(key, version);
  }
  return known;
}

function compare(known: ReadonlyMap<string, string>, { entries, faults }: Listed): SourcePreview['changes'] {
  const seen = new Set(entries.map(({ key }) => key));
  const isKept = keptByFaults(faults);
  const counts = { added: 0, changed: 0, removed: 0, unchanged: 0 };
  for (const { key, version } of entries) {
    const before = known.get(key);
    counts[before === undefined ? 'added' : before === version ? 'unchanged' : 'changed']++;
  }
  for (const key of known.keys()) if (!seen.has(key) && !isKept(key)) counts.removed++;
  return counts;
}

/** Return the price of tokens for the model that an upload would use now, or null if no model is available. */
async function costOf(embedder: Embedder, orgId: string, tokens: number): Promise<number | null> {
  const chosen = await embedder.chooseForJob(orgId, { sample: ['text'] }).catch(() => null);
  return chosen === null ? null : (tokens * chosen.checkedBy[0].pricePerMillion) / 1e6;
}

/** Estimate the number of chunks. A chunk never spans two entries, so each small entry has its own. */
function chunksOf(entries: readonly ListedEntry[]): number {
  let chunks = 0;
  for (const { sizeBytes } of entries) chunks += Math.ceil(sizeBytes / (BYTES_PER_TOKEN * TOKENS_PER_CHUNK));
  return chunks;
}

function toPreviewed({ key, sizeBytes, eventTimeMs }: ListedEntry): SourcePreview['entries'][number] {
  const time = eventTimeMs === undefined || eventTimeMs === null ? null : new Date(eventTimeMs).toISOString();
  return { key, size_bytes: sizeBytes, event_time: time };
}

function toFault({ key, isFolder = false, fault }: EntryFault): SourcePreview['faults'][number] {
  return { key, is_folder: isFolder, fault };
}
