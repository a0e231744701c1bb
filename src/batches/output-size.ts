import type { OutputType } from '../embedding/output-types.ts';
import type { Plan, PlannedRequest } from './plan.ts';
import type { GroupChoice } from './progress-store.ts';

/** Upper bounds of the JSON of one value with its comma: `-0.00000123456789,` and `-127,`. */
const FLOAT_TEXT_BYTES_MAX = 18;
const BYTE_TEXT_BYTES_MAX = 5;
const FLOAT_BYTES = 4;
const BITS = 8;
/** Text around a vector, and around the answer or the error of a line, without its `custom_id`. */
const VECTOR_FRAME_BYTES_MAX = 64;
const LINE_FRAME_BYTES_MAX = 1_024;

/**
 * Compute an upper bound of the bytes of a batch's output and error files, which repeat the vector of a repeated text.
 * The fallback of a model may exceed it if its vectors are longer.
 */
export function outputBytesMax(plan: Plan, choices: readonly GroupChoice[]): number {
  return plan.lines.reduce((sum, line) => {
    const frame = LINE_FRAME_BYTES_MAX + Buffer.byteLength(JSON.stringify(line.customId));
    return sum + frame + ('fault' in line ? 0 : vectorBytesMax(plan, choices, line));
  }, 0);
}

function vectorBytesMax(plan: Plan, choices: readonly GroupChoice[], request: PlannedRequest): number {
  const { texts, isBase64, outputType } = request;
  const chunk = plan.texts[texts[0] as number]?.chunk as number;
  const choice = choices[plan.chunks[chunk]?.group as number];
  if (choice === undefined || choice.fault !== null) return 0;
  const vector = isBase64 ? base64Bytes(choice.dimensions, outputType) : textBytesMax(choice.dimensions, outputType);
  return texts.length * (vector + VECTOR_FRAME_BYTES_MAX);
}

function textBytesMax(dimensions: number, type: OutputType | null): number {
  return valuesOf(dimensions, type) * (isFloat(type) ? FLOAT_TEXT_BYTES_MAX : BYTE_TEXT_BYTES_MAX);
}

function base64Bytes(dimensions: number, type: OutputType | null): number {
  return Math.ceil((valuesOf(dimensions, type) * (isFloat(type) ? FLOAT_BYTES : 1)) / 3) * 4;
}

function valuesOf(dimensions: number, type: OutputType | null): number {
  return type === 'binary' || type === 'ubinary' ? Math.ceil(dimensions / BITS) : dimensions;
}

function isFloat(type: OutputType | null): boolean {
  return type === null || type === 'float';
}
