import { convertVectors } from '../embedding/output-types.ts';
import { freeMemory } from '../platform/free-memory.ts';
import { releaseBuffer } from '../platform/large-buffers.ts';
import { renderEmbeddingList } from '../printing/print-floats.ts';
import type { BatchRow } from './batches-store.ts';
import type { ChunkFacts } from './chunk-object.ts';
import type { Plan, PlannedRequest, PlannedText } from './plan.ts';
import type { Progress } from './progress.ts';
import type { GroupChoice, RequestFault } from './progress-store.ts';
import type { VectorReader } from './vector-reader.ts';

/** Data for rendering the lines of the output and error files. */
export interface AnswerSource {
  readonly batch: BatchRow;
  readonly plan: Plan;
  readonly choices: readonly GroupChoice[];
  readonly progress: Progress;
  readonly vectors: VectorReader;
}

/** Reason why the batch ended before requests were run. */
export interface NotRun {
  readonly code: 'batch_expired' | 'batch_cancelled';
  readonly message: string;
}

/** Render the lines of successful requests in input order, as their chunks are stored. */
export async function* outputLines(source: AnswerSource): AsyncGenerator<Buffer> {
  for (const line of source.plan.lines) {
    if ('fault' in line || groupFault(source, line) !== null) continue;
    const facts = await factsOf(source, line);
    if (facts === null || facts.some(({ fault }) => fault !== null)) continue;
    yield await renderAnswer(source, line, facts);
  }
}

/** Render the lines of requests without success. Call this once every chunk is settled. */
export async function* errorLines(source: AnswerSource, notRun: NotRun | null): AsyncGenerator<Buffer> {
  for (const line of source.plan.lines) {
    if ('fault' in line) {
      yield errorLine(source.batch, line, { response: null, error: line.fault });
      continue;
    }
    const ofGroup = groupFault(source, line);
    if (ofGroup !== null) {
      yield refusalLine(source.batch, line, ofGroup);
      continue;
    }
    const facts = await factsOf(source, line);
    if (facts === null) {
      if (notRun !== null) yield errorLine(source.batch, line, { response: null, error: notRun });
      continue;
    }
    const place = facts.findIndex(({ fault }) => fault !== null);
    const fault = facts[place]?.fault ?? null;
    if (fault !== null) yield refusalLine(source.batch, line, line.isList ? inList(fault, place) : fault);
  }
}

interface TextFacts {
  readonly text: PlannedText;
  readonly chunk: ChunkFacts;
  readonly fault: RequestFault | null;
}

/** Collect the facts of a request's texts. Return null if one of them is not embedded. */
async function factsOf({ plan, progress }: AnswerSource, { texts }: PlannedRequest): Promise<TextFacts[] | null> {
  const facts: TextFacts[] = [];
  for (const number of texts) {
    const text = plan.texts[number] as PlannedText;
    const chunk = await progress.factsOf(text.chunk);
    if (chunk === null) return null;
    const fault = chunk.faults.find(([row]) => row === text.row)?.[1] ?? null;
    facts.push({ text, chunk, fault });
  }
  return facts;
}

/** Return the reason why no model can embed a request, or null if one can. All its texts are in the same group. */
function groupFault({ plan, choices }: AnswerSource, { texts }: PlannedRequest): RequestFault | null {
  const chunk = plan.texts[texts[0] as number]?.chunk as number;
  return choices[plan.chunks[chunk]?.group as number]?.fault ?? null;
}

async function renderAnswer(source: AnswerSource, line: PlannedRequest, facts: readonly TextFacts[]): Promise<Buffer> {
  const dimensions = facts[0]?.chunk.dimensions as number;
  const vectors = new Float32Array(facts.length * dimensions);
  for (const [index, { text }] of facts.entries()) {
    await source.vectors.read(text, vectors.subarray(index * dimensions, (index + 1) * dimensions));
  }
  const models = new Set(facts.map(({ chunk }) => chunk.model ?? ''));
  const promptTokens = facts.reduce((sum, { text, chunk }) => sum + (chunk.tokens[text.row] as number), 0);
  const tail = { model: [...models].join('+'), promptTokens, base64: line.isBase64 };
  const { rows, columns } = await convertVectors(vectors, dimensions, line.outputType);
  const body = await renderEmbeddingList(rows, columns, tail);
  freeMemory(vectors);
  const { id, customId, requestId } = namesOf(source.batch, line);
  const head = `{"id":${id},"custom_id":${customId},"response":{"status_code":200,"request_id":${requestId},"body":`;
  const bytes = Buffer.concat([Buffer.from(head), body, Buffer.from('},"error":null}\n')]);
  releaseBuffer(body);
  return bytes;
}

/** Point a fault at the list item that it is about. */
function inList(fault: RequestFault, place: number): RequestFault {
  const rename = (text: string) => text.replace(/^input\b/, `input[${place}]`);
  return { ...fault, message: rename(fault.message), param: fault.param && rename(fault.param) };
}

/** Render the line of a refused request, with the response that its endpoint would send. */
function refusalLine(batch: BatchRow, line: PlannedRequest, fault: RequestFault): Buffer {
  const { code, message, param, status } = fault;
  const { requestId } = namesOf(batch, line);
  const error = { message, type: 'invalid_request_error', param, code };
  const response = { status_code: status, request_id: JSON.parse(requestId), body: { error } };
  return errorLine(batch, line, { response, error: null });
}

function errorLine(
  batch: BatchRow,
  line: Pick<PlannedRequest, 'line'> & { readonly customId: string | null },
  outcome: { readonly response: unknown; readonly error: unknown },
): Buffer {
  const { id, customId } = namesOf(batch, line);
  const { response, error } = outcome;
  return Buffer.from(
    `{"id":${id},"custom_id":${customId},"response":${JSON.stringify(response)},"error":${JSON.stringify(error)}}\n`,
  );
}

/** Return the ids of a line as JSON, the same in every attempt. */
function namesOf({ id }: BatchRow, line: { readonly line: number; readonly customId: string | null }) {
  const own = `${id.replace(/^batch_/, '')}-${line.line}`;
  return {
    id: JSON.stringify(`batch_req_${own}`),
    requestId: JSON.stringify(`req_${own}`),
    customId: JSON.stringify(line.customId),
  };
}
