import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** Parts of an ONNX model that determine its use. */
export interface OnnxOutline {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Weight files, as named in the model. */
  readonly externalFiles: readonly string[];
}

/** Numbers of the required fields (onnx.proto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). */
const MODEL = { graph: 7, opset: 8 } as const;
const GRAPH = { initializer: 5, input: 11, output: 12 } as const;
const TENSOR = { external: 13 } as const;
const NAME = 1;
const ENTRY = { key: 1, value: 2 } as const;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const WINDOW_BYTES = 64 * 1024;
const STRING_BYTES_MAX = 4096;
const ITEMS_MAX = 10_000;

export class OnnxFault extends Error {
  override readonly name = 'OnnxFault';
}

/**
 * Read the names of a model's inputs, outputs and external files, without its weights.
 * @throws OnnxFault if the file isn't an ONNX model
 */
export function readOnnxOutline(file: string): OnnxOutline {
  const reader = new ProtobufReader(file);
  const outline = { inputs: [] as string[], outputs: [] as string[], external: new Set<string>() };
  let graphs = 0;
  let opsets = 0;
  try {
    for (const field of reader.fields(0, reader.size)) {
      if (field.number === MODEL.opset) opsets++;
      if (field.number !== MODEL.graph || field.type !== BYTES) continue;
      graphs++;
      for (const part of reader.fields(field.from, field.to)) readPart(reader, part, outline);
    }
  } finally {
    reader.close();
  }
  if (graphs !== 1 || opsets === 0) throw new OnnxFault('it is not a model in ONNX');
  return { inputs: outline.inputs, outputs: outline.outputs, externalFiles: [...outline.external] };
}

function readPart(
  reader: ProtobufReader,
  part: Field,
  outline: { inputs: string[]; outputs: string[]; external: Set<string> },
): void {
  if (part.type !== BYTES) return;
  if (part.number === GRAPH.input) outline.inputs.push(nameOf(reader, part));
  if (part.number === GRAPH.output) outline.outputs.push(nameOf(reader, part));
  if (part.number === GRAPH.initializer) {
    for (const field of reader.fields(part.from, part.to)) {
      if (field.number !== TENSOR.external) continue;
      const entry = readEntry(reader, field);
      if (entry.key === 'location') outline.external.add(entry.value);
    }
  }
  if (outline.inputs.length + outline.outputs.length + outline.external.size > ITEMS_MAX) {
    throw new OnnxFault('it has too many inputs, outputs or files');
  }
}

function nameOf(reader: ProtobufReader, { from, to }: Field): string {
  for (const field of reader.fields(from, to)) if (field.number === NAME) return reader.string(field);
  throw new OnnxFault('an input or output has no name');
}

function readEntry(reader: ProtobufReader, { from, to }: Field): { key: string; value: string } {
  const entry = { key: '', value: '' };
  for (const field of reader.fields(from, to)) {
    if (field.number === ENTRY.key) entry.key = reader.string(field);
    if (field.number === ENTRY.value) entry.value = reader.string(field);
  }
  return entry;
}

interface Field {
  readonly number: number;
  readonly type: number;
  /** Range [from, to) of its content, in bytes. */
  readonly from: number;
  readonly to: number;
}

/** Reads protocol buffer fields from a file of any size. Skips content that isn't requested. */
class ProtobufReader {
  readonly size: number;
  readonly #file: number;
  readonly #window = Buffer.alloc(WINDOW_BYTES);
  #windowFrom = 0;
  #windowLength = 0;

  constructor(path: string) {
    this.size = statSync(path).size;
    this.#file = openSync(path, 'r');
  }

  close(): void {
    closeSync(this.#file);
  }

  *fields(from: number, to: number): Generator<Field> {
    let at = from;
    while (at < to) {
      const key = this.#varint(at, to);
      const [number, type] = [Math.floor(key.value / 8), key.value % 8];
      let content = key.end;
      let end = content;
      if (type === VARINT) end = this.#varint(content, to).end;
      else if (type === FIXED64) end += 8;
      else if (type === FIXED32) end += 4;
      else if (type === BYTES) {
        const length = this.#varint(content, to);
        content = length.end;
        end = content + length.value;
      } else throw new OnnxFault('it is not a model in ONNX');
      if (end > to || number === 0) throw new OnnxFault('it is cut off, or not a model in ONNX');
      yield { number, type, from: content, to: end };
      at = end;
    }
  }

  string({ from, to, type }: Field): string {
    if (type !== BYTES || to - from > STRING_BYTES_MAX) throw new OnnxFault('one of its names is too long');
    const bytes = Buffer.alloc(to - from);
    readSync(this.#file, bytes, 0, bytes.length, from);
    return bytes.toString('utf8');
  }

  #varint(from: number, to: number): { value: number; end: number } {
    let value = 0;
    for (let at = from, shift = 1; at < to && at < from + 8; at++, shift *= 128) {
      const byte = this.#byte(at);
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return { value, end: at + 1 };
    }
    // Negative numbers take ten bytes. Their values are never needed.
    if (from + 10 <= to && this.#byte(from + 9) < 0x80) return { value, end: from + 10 };
    throw new OnnxFault('it is cut off, or not a model in ONNX');
  }

  #byte(at: number): number {
    if (at < this.#windowFrom || at >= this.#windowFrom + this.#windowLength) {
      this.#windowFrom = at;
      this.#windowLength = readSync(this.#file, this.#window, 0, WINDOW_BYTES, at);
      if (this.#windowLength === 0) throw new OnnxFault('it is cut off');
    }
    return this.#window[at - this.#windowFrom] as number;
  }
}
