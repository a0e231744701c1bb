import type { ImportReply, ImportRequest } from '../../ingest/vectors/schema.ts';
import { AppError, invalidRequest } from '../../platform/errors.ts';
import { note } from '../output.ts';
import { ownWorker } from '../own-worker.ts';
import { openProgress } from '../progress.ts';
import type { Session } from '../session.ts';
import type { OldIndex, OldRow } from './old-row.ts';

/** Maximum rows, and bytes of vectors, per call. */
const BATCH_ROWS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Maximum rows waiting for their jobs before more are sent. */
const WAITING_MAX = 2_000;
const FAULTS_SHOWN = 20;

export interface ImportReport {
  readonly object: 'vector.import';
  readonly bucket_id: string;
  readonly model: string;
  readonly space: string;
  readonly map: ImportReply['map'];
  readonly dry_run: boolean;
  readonly rows: number;
  readonly added: number;
  readonly replaced: number;
  readonly unchanged: number;
  readonly without_text: number;
  /** Number of documents that did not become searchable. */
  readonly failed: number;
  readonly faults: readonly { readonly document_id: string | null; readonly message: string }[];
}

type Fields = Omit<ImportRequest, 'rows' | 'dry_run'> & { readonly bucket: string };

/**
 * Import an old index. Check all rows before storing the first one. After an abort, the rows already sent stay. Running
 * the command again imports the rest, because it skips rows that the bucket already has.
 *
 * @throws AppError `invalid_request` that names the place in the file, and errors of `index.importVectors`
 */
export async function importOldIndex(
  session: Session,
  { file, index, fields }: { readonly file: string; readonly index: OldIndex; readonly fields: Fields },
  { dryRun, wait, signal }: { readonly dryRun: boolean; readonly wait: boolean; readonly signal: AbortSignal },
): Promise<ImportReport> {
  const progress = await openProgress();
  const send = (rows: readonly OldRow[], dry_run: boolean) => sendRows(session, file, fields, rows, dry_run);
  const checked = new Totals();
  const jobs = new WaitingJobs(session, signal);
  const sent = new Totals();
  try {
    if (index.total === null) note('checking all rows');
    else progress.begin('checking rows', index.total);
    const ids = new Map<string, string>();
    for await (const rows of batchesOf(index)) {
      signal.throwIfAborted();
      refuseRepeated(file, ids, rows);
      checked.add(await send(rows, true));
      if (index.total !== null) progress.update(checked.rows);
    }
    if (checked.reply === null) throw invalidRequest(`${file} has no rows`, 'vectors');
    if (dryRun) return checked.report(true, []);
    progress.begin('importing rows', checked.rows);
    for await (const rows of batchesOf(index)) {
      signal.throwIfAborted();
      const reply = await send(rows, false);
      sent.add(reply);
      if (wait) {
        jobs.add(reply);
        await jobs.until(WAITING_MAX);
      }
      progress.update(sent.rows - jobs.waiting);
    }
    while (jobs.waiting > 0) {
      await jobs.until(jobs.waiting - 1);
      progress.update(sent.rows - jobs.waiting);
    }
    return sent.report(false, jobs.faults);
  } catch (error) {
    if (signal.aborted && sent.rows > 0) {
      note(`interrupted: ${sent.rows} of ${checked.rows} rows were sent; the same command sends the rest`);
    }
    throw error;
  } finally {
    progress.close();
    await jobs.close();
  }
}

/** Group rows into batches, one per call. */
async function* batchesOf(index: OldIndex): AsyncGenerator<OldRow[]> {
  let batch: OldRow[] = [];
  let bytes = 0;
  for await (const row of index.rows()) {
    batch.push(row);
    bytes += row.vector.byteLength + (row.text?.length ?? 0);
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function refuseRepeated(file: string, places: Map<string, string>, rows: readonly OldRow[]): void {
  for (const { id, place } of rows) {
    const before = places.get(id);
    if (before !== undefined)
      throw invalidRequest(`${file}, ${place}: "${id}" is already the id of ${before}`, 'vectors');
    places.set(id, place);
  }
}

async function sendRows(
  session: Session,
  file: string,
  fields: Fields,
  rows: readonly OldRow[],
  dry_run: boolean,
): Promise<ImportReply> {
  const given = rows.map(({ id, vector, text, metadata }) => ({
    id,
    vector: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
    text: text === '' ? null : text,
    metadata: metadata as Record<string, string>,
  }));
  try {
    return await session.call('index.importVectors', { ...fields, rows: given, dry_run });
  } catch (error) {
    throw error instanceof AppError ? placed(error, file, rows, dry_run) : error;
  }
}

/**
 * Add the place in the file to the error about a row, which is `rows[17].vector: …`, or `rows.17.vector: …` from input
 * validation.
 *
 * @param isCheck true if no row was sent before
 */
function placed(error: AppError, file: string, rows: readonly OldRow[], isCheck: boolean): AppError {
  const [, at, field = '', fault = ''] = /^(?:--)?rows[.[](\d+)\]?(?:\.([^:]+))?: (.*)$/s.exec(error.message) ?? [];
  const row = at === undefined ? undefined : rows[Number(at)];
  if (row === undefined) return error;
  const what = field === '' ? '' : `${field}: `;
  return invalidRequest(
    `${file}, ${row.place} (id ${row.id}): ${what}${fault}${isCheck ? '; nothing was imported' : ''}`,
    'vectors',
  );
}

/** Totals over the responses of all calls. */
class Totals {
  rows = 0;
  reply: ImportReply | null = null;
  readonly #counts = { added: 0, replaced: 0, unchanged: 0, without_text: 0 };

  add(reply: ImportReply): void {
    if (this.reply === null) for (const warning of reply.warnings) note(`warning: ${warning}`);
    this.reply = reply;
    this.rows += reply.documents.length;
    for (const name of Object.keys(this.#counts) as (keyof ImportReply['counts'])[]) {
      this.#counts[name] += reply.counts[name];
    }
  }

  report(dry_run: boolean, faults: ImportReport['faults']): ImportReport {
    if (this.reply === null) throw new Error('no rows');
    const { bucket_id, model, space, map } = this.reply;
    return {
      object: 'vector.import',
      bucket_id,
      model,
      space,
      map,
      dry_run,
      rows: this.rows,
      ...this.#counts,
      failed: faults.length,
      faults: faults.slice(0, FAULTS_SHOWN),
    };
  }
}

/** Unfinished jobs of imported rows. If no worker is alive, one runs in this process. */
class WaitingJobs {
  readonly faults: { readonly document_id: string | null; readonly message: string }[] = [];
  readonly #session: Session;
  readonly #worker: ReturnType<typeof ownWorker>;
  readonly #ids = new Set<string>();

  constructor(session: Session, signal: AbortSignal) {
    this.#session = session;
    this.#worker = ownWorker(session, signal);
  }

  get waiting(): number {
    return this.#ids.size;
  }

  add({ documents }: ImportReply): void {
    for (const { job_id: id } of documents) if (id !== null) this.#ids.add(id);
  }

  /** Wait until at most `count` jobs remain. */
  async until(count: number): Promise<void> {
    if (this.#ids.size <= count) return;
    await this.#worker.waitFor(async () => {
      for (const job of await this.#session.call('jobs.finished', { ids: [...this.#ids] })) {
        this.#ids.delete(job.id);
        if (job.status === 'ready') continue;
        this.faults.push({ document_id: job.document_id, message: job.error_message ?? `the job was ${job.status}` });
      }
      return this.#ids.size <= count || null;
    });
  }

  async close(): Promise<void> {
    await this.#worker.stop();
  }
}
