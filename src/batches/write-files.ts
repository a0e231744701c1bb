import { MONTH_SECONDS } from '../files/file-schema.ts';
import { fileKey } from '../files/files.ts';
import { insertFile } from '../files/files-store.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { type AnswerSource, errorLines, type NotRun, outputLines } from './answer-lines.ts';
import type { BatchContext } from './context.ts';

const BLOCK_BYTES = 256 * 1024;

/** File whose bytes are stored, but which has no row yet. */
export interface WrittenFile {
  readonly id: string;
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
}

/** Write the output file while chunks are being embedded. Return null if no request succeeds. */
export function writeOutput(
  context: BatchContext,
  source: AnswerSource,
  signal: AbortSignal,
): Promise<WrittenFile | null> {
  return writeLines(context, source, outputLines(source), signal);
}

/** Write the error file. Return null if every request succeeded. */
export function writeErrors(
  context: BatchContext,
  source: AnswerSource,
  notRun: NotRun | null,
  signal: AbortSignal,
): Promise<WrittenFile | null> {
  return writeLines(context, source, errorLines(source, notRun), signal);
}

async function writeLines(
  { objects }: BatchContext,
  { batch }: AnswerSource,
  lines: AsyncGenerator<Buffer>,
  signal: AbortSignal,
): Promise<WrittenFile | null> {
  const blocks = inBlocks(lines);
  const first = await blocks.next();
  if (first.done) return null;
  const all = async function* () {
    yield first.value;
    yield* blocks;
  };
  const id = newId('file');
  const objectKey = fileKey(batch.orgId, id);
  const { sizeBytes, sha256 } = await objects.put(objectKey, all(), { signal });
  return { id, objectKey, sizeBytes, sha256: Buffer.from(sha256, 'hex') };
}

/** Combine lines into blocks, since a write costs more per call than per byte. Every block fills the same memory. */
async function* inBlocks(lines: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let bytes = 0;
  for await (const line of lines) {
    if (bytes + line.length > block.length && bytes > 0) {
      yield block.subarray(0, bytes);
      bytes = 0;
    }
    if (line.length > block.length) yield line;
    else bytes += line.copy(block, bytes);
  }
  if (bytes > 0) yield block.subarray(0, bytes);
}

/** Insert the row of a written file, in the transaction that ends its batch. */
export async function insertWritten(
  tx: Sql,
  { batch }: AnswerSource,
  file: WrittenFile | null,
  name: 'output' | 'error',
): Promise<string | null> {
  if (file === null) return null;
  await insertFile(tx, {
    ...file,
    orgId: batch.orgId,
    purpose: 'batch_output',
    fileName: `${batch.id}_${name}.jsonl`,
    lifetimeSeconds: batch.outputSeconds ?? MONTH_SECONDS,
  });
  return file.id;
}
