import { copyBytes, type Handle, OrtApi, OrtError, readString } from './ort-api.ts';

/** Element types, by their ONNX numbers. */
const FLOAT = 1;
const INT64 = 7;
const FLOAT16 = 10;
const ELEMENT_BYTES: Readonly<Record<number, number>> = { [FLOAT]: 4, [INT64]: 8, [FLOAT16]: 2 };

const LOG_ERRORS = 3;
const ALL_OPTIMIZATIONS = 99;
const ARENA = 1;
const DEFAULT_MEMORY = 0;

/** Name, type and shape of an input or output; -1 marks a variable dimension. */
export interface TensorInfo {
  readonly name: string;
  readonly type: number;
  readonly shape: readonly number[];
}

/** Output of a run: numbers in row-major order. */
export interface Tensor {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Tokens of a batch of texts, padded to the longest. */
export interface TokenBatch {
  readonly rows: number;
  readonly length: number;
  /** [rows x length] each. */
  readonly ids: BigInt64Array;
  readonly mask: BigInt64Array;
  readonly types: BigInt64Array;
}

/** A loaded model. It keeps the weights until the process ends. */
export class Session {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  readonly #api: OrtApi;
  readonly #session: Handle;
  readonly #memory: Handle;
  readonly #output: number;
  readonly #inUse = new Set<readonly unknown[]>();

  /**
   * @param options.threads maximum number of computing threads
   * @param options.output names of the output to read, in order of preference; default: the first output
   * @throws OrtError if the library or the model can't be loaded
   */
  constructor(options: { library: string; model: string; threads: number; output: readonly string[] }) {
    const api = new OrtApi(options.library);
    const environment = api.make('createEnv', LOG_ERRORS, 'service');
    const settings = api.make('createSessionOptions');
    api.call('setLogSeverity', settings, LOG_ERRORS);
    api.call('setOptimizationLevel', settings, ALL_OPTIMIZATIONS);
    api.call('setIntraOpThreads', settings, options.threads);
    // Batches have many shapes, and a memory plan for each would cost more than it saves.
    api.call('disableMemPattern', settings);
    this.#api = api;
    this.#session = api.make('createSession', environment, options.model, settings);
    this.#memory = api.make('createCpuMemoryInfo', ARENA, DEFAULT_MEMORY);
    const allocator = api.make('getDefaultAllocator');
    this.inputs = this.#describe(allocator, 'Input');
    this.outputs = this.#describe(allocator, 'Output');
    this.#output = Math.max(
      0,
      this.outputs.findIndex(({ name }) => name === options.output.find((each) => this.#hasOutput(each))),
    );
    for (const { name, type } of this.inputs) {
      if (!(type in ELEMENT_BYTES)) throw new OrtError(`the input ${name} has a type that is not supported (${type})`);
    }
  }

  get output(): TensorInfo {
    return this.outputs[this.#output] as TensorInfo;
  }

  /** @throws OrtError if the model can't compute the batch */
  async run(batch: TokenBatch): Promise<Tensor> {
    const values: Handle[] = [];
    const received = [null] as [Handle | null];
    const buffers = this.inputs.map((input) => inputOf(input, batch));
    const names = this.inputs.map(({ name }) => name);
    // The runtime reads the buffers while computing, and nothing else protects them from garbage collection.
    this.#inUse.add(buffers);
    try {
      for (const [at, { data, shape }] of buffers.entries()) {
        const dimensions = BigInt64Array.from(shape, BigInt);
        const { type } = this.inputs[at] as TensorInfo;
        const bytes = data.byteLength;
        values.push(this.#api.make('createTensor', this.#memory, data, bytes, dimensions, shape.length, type));
      }
      const outputs = new BigUint64Array(new ArrayBuffer(64), 0, 1);
      await this.#api.run(this.#session, null, names, values, values.length, [this.output.name], 1, outputs);
      received[0] = outputs[0] as bigint;
      return this.#read(received[0]);
    } finally {
      this.#inUse.delete(buffers);
      for (const value of [...values, ...received]) if (value) this.#api.release('releaseValue', value);
    }
  }

  #hasOutput(name: string): boolean {
    return this.outputs.some((output) => output.name === name);
  }

  #describe(allocator: Handle, kind: 'Input' | 'Output'): TensorInfo[] {
    const api = this.#api;
    const count = api.number(`sessionGet${kind}Count`, this.#session);
    return Array.from({ length: count }, (_, at) => {
      const address = api.make(`sessionGet${kind}Name`, this.#session, at, allocator);
      const name = readString(address);
      api.call('allocatorFree', allocator, address);
      const info = api.make(`sessionGet${kind}TypeInfo`, this.#session, at);
      // The tensor info belongs to the type and is released with it.
      const tensor = api.make('castToTensorInfo', info);
      const found = { name, ...this.#shapeOf(tensor) };
      api.release('releaseTypeInfo', info);
      return found;
    });
  }

  #shapeOf(tensor: Handle): Omit<TensorInfo, 'name'> {
    const length = this.#api.number('getDimensionsCount', tensor);
    const shape = new BigInt64Array(new ArrayBuffer(Math.max(64, length * 8)), 0, length);
    this.#api.call('getDimensions', tensor, shape, length);
    return { type: this.#api.number('getElementType', tensor), shape: Array.from(shape, Number) };
  }

  #read(value: Handle): Tensor {
    const info = this.#api.make('getTensorTypeAndShape', value);
    const { type, shape } = this.#shapeOf(info);
    this.#api.release('releaseTensorInfo', info);
    if (type !== FLOAT && type !== FLOAT16) throw new OrtError(`the output has a type that is not supported (${type})`);
    const count = shape.reduce((product, each) => product * each, 1);
    const bytes = copyBytes(this.#api.make('getTensorData', value), count * (ELEMENT_BYTES[type] as number));
    return { data: type === FLOAT ? new Float32Array(bytes) : readHalves(new Uint16Array(bytes)), shape };
  }
}

/** Create the input with this name. An input for cached earlier tokens is empty. */
function inputOf(
  { name, type, shape }: TensorInfo,
  batch: TokenBatch,
): { data: ArrayBufferView; shape: readonly number[] } {
  const { rows, length } = batch;
  if (name === 'input_ids') return { data: batch.ids, shape: [rows, length] };
  if (name === 'attention_mask') return { data: batch.mask, shape: [rows, length] };
  if (name === 'token_type_ids') return { data: batch.types, shape: [rows, length] };
  if (name === 'position_ids') {
    const data = new BigInt64Array(new ArrayBuffer(Math.max(64, rows * length * 8)), 0, rows * length);
    for (let at = 0; at < data.length; at++) data[at] = BigInt(at % length);
    return { data, shape: [rows, length] };
  }
  if (name.startsWith('past_key_values')) {
    // [batch, heads, earlier tokens, width]
    const [, heads = 1, , width = 1] = shape;
    return { data: new Uint8Array(new ArrayBuffer(64), 0, 0), shape: [rows, heads, 0, width] };
  }
  throw new OrtError(`the model needs an input that is not known: ${name} (${type})`);
}

function readHalves(halves: Uint16Array): Float32Array {
  return Float32Array.from(halves, halfToFloat);
}

/** Convert the bits of an IEEE 754 binary16 number. */
export function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
