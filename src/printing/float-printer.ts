import { readFileSync } from 'node:fs';
import { AppError } from '../platform/errors.ts';

/** Printer of blocks of float32 as JSON numbers. Every value is the shortest decimal that reads back to it. */
export interface FloatPrinter {
  /** Maximum number of floats in one call. The module's memory is fixed and holds the longest text of this many. */
  readonly blockFloatsMax: number;
  /**
   * Print `vectors[from .. to)`, 1 to `blockFloatsMax` values, as `1,-0.5,…` (without a trailing comma).
   * @returns a view of the module's memory, which the next call overwrites: copy it immediately
   * @throws AppError `embedding_not_finite` (502) on NaN or an infinity, which JSON cannot represent
   */
  printBlock(vectors: Float32Array, from: number, to: number): Uint8Array;
}

/** Exports of `print-floats.as.ts`. */
interface PrintFloatsModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly floatsMax: { readonly value: number };
  readonly inputAddress: { readonly value: number };
  readonly outputAddress: { readonly value: number };
  print(count: number): number;
}

/** Part of the WebAssembly API used here, which neither the ECMAScript nor the Node typings declare. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
}

let threadPrinter: FloatPrinter | undefined;

/** Return the printer of this thread, instantiated on first use. Calls are synchronous, so one is sufficient. */
export function floatPrinter(): FloatPrinter {
  threadPrinter ??= openFloatPrinter(readFileSync(new URL('./print-floats.wasm', import.meta.url)));
  return threadPrinter;
}

/** Open a printer with its own instance of the module compiled from `print-floats.as.ts`. */
export function openFloatPrinter(wasm: Uint8Array): FloatPrinter {
  const api = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
  const module = new api.Instance(new api.Module(wasm)).exports as PrintFloatsModule;
  const blockFloatsMax = module.floatsMax.value;
  const input = new Float32Array(module.memory.buffer, module.inputAddress.value, blockFloatsMax);
  const output = new Uint8Array(module.memory.buffer, module.outputAddress.value);
  return {
    blockFloatsMax,
    printBlock(vectors, from, to) {
      const count = to - from;
      if (!(from >= 0 && count >= 1 && count <= blockFloatsMax && to <= vectors.length)) {
        throw new RangeError(`cannot print floats ${from}..${to} of ${vectors.length} as one block`);
      }
      input.set(vectors.subarray(from, to));
      const written = module.print(count);
      if (written < 0) throw notFinite(from - 1 - written);
      return output.subarray(0, written - 1);
    },
  };
}

/** @param position index of the value in the row-major array of vectors */
export function notFinite(position: number): AppError {
  return new AppError({
    code: 'embedding_not_finite',
    status: 502,
    message: 'the provider returned an embedding with a value that is not a finite number',
    details: { position },
  });
}
