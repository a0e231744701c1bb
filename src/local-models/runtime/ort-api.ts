import koffi from 'koffi';

/**
 * The C API of ONNX Runtime (https://onnxruntime.ai/docs/api/c/): one structure of function pointers, whose order never
 * changes. We call it directly, because the runtime's npm package contains the libraries of all platforms.
 */

/** Requested version of the structure. Newer libraries also provide older structures. */
const API_VERSION = 16;
const SLOTS = 131;
const STACK_BYTES = 8 * 1024 * 1024;

const POINTER = 'void *';
const result = () => koffi.out(koffi.pointer(POINTER));

/** Position in the structure and argument types of each function used. */
const FUNCTIONS = {
  getErrorMessage: [2, 'str', [POINTER]],
  createEnv: [3, POINTER, ['int', 'str', result()]],
  createSession: [7, POINTER, [POINTER, 'str', POINTER, result()]],
  run: [9, POINTER, [POINTER, POINTER, 'char **', 'void **', 'size_t', 'char **', 'size_t', 'void **']],
  createSessionOptions: [10, POINTER, [result()]],
  disableMemPattern: [17, POINTER, [POINTER]],
  disableCpuMemArena: [19, POINTER, [POINTER]],
  setLogSeverity: [22, POINTER, [POINTER, 'int']],
  setOptimizationLevel: [23, POINTER, [POINTER, 'int']],
  setIntraOpThreads: [24, POINTER, [POINTER, 'int']],
  sessionGetInputCount: [30, POINTER, [POINTER, koffi.out(koffi.pointer('size_t'))]],
  sessionGetOutputCount: [31, POINTER, [POINTER, koffi.out(koffi.pointer('size_t'))]],
  sessionGetInputTypeInfo: [33, POINTER, [POINTER, 'size_t', result()]],
  sessionGetOutputTypeInfo: [34, POINTER, [POINTER, 'size_t', result()]],
  sessionGetInputName: [36, POINTER, [POINTER, 'size_t', POINTER, result()]],
  sessionGetOutputName: [37, POINTER, [POINTER, 'size_t', POINTER, result()]],
  createTensor: [49, POINTER, [POINTER, POINTER, 'size_t', POINTER, 'size_t', 'int', result()]],
  getTensorData: [51, POINTER, [POINTER, result()]],
  castToTensorInfo: [55, POINTER, [POINTER, result()]],
  getElementType: [60, POINTER, [POINTER, koffi.out(koffi.pointer('int'))]],
  getDimensionsCount: [61, POINTER, [POINTER, koffi.out(koffi.pointer('size_t'))]],
  getDimensions: [62, POINTER, [POINTER, POINTER, 'size_t']],
  getTensorTypeAndShape: [65, POINTER, [POINTER, result()]],
  createCpuMemoryInfo: [69, POINTER, ['int', 'int', result()]],
  allocatorFree: [76, POINTER, [POINTER, POINTER]],
  getDefaultAllocator: [78, POINTER, [result()]],
  releaseStatus: [93, 'void', [POINTER]],
  releaseValue: [96, 'void', [POINTER]],
  releaseTypeInfo: [98, 'void', [POINTER]],
  releaseTensorInfo: [99, 'void', [POINTER]],
  addConfigEntry: [130, POINTER, [POINTER, 'str', 'str']],
} as const satisfies Record<string, readonly [number, string, readonly unknown[]]>;

type Name = keyof typeof FUNCTIONS;
type KoffiFunction = ReturnType<ReturnType<typeof koffi.load>['func']>;
/** Address of a runtime object. */
export type Handle = bigint;

/** Fault reported by the runtime, in its own words. */
export class OrtError extends Error {
  override readonly name = 'OrtError';
}

/** Functions of an ONNX Runtime library. */
export class OrtApi {
  readonly #functions: Readonly<Record<Name, KoffiFunction>>;
  /** Reference that keeps koffi from unloading the library while in use. */
  readonly #library: ReturnType<typeof koffi.load>;

  /** @param library path of the shared library */
  constructor(library: string) {
    // Calls run on koffi's own stacks, whose default size is too small for the runtime's kernels.
    koffi.config({ sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES, resident_async_pools: 1 });
    this.#library = koffi.load(library);
    const base = koffi.decode(this.#library.func('OrtGetApiBase', POINTER, [])(), 'void *[2]') as Handle[];
    const api = koffi.call(base[0], koffi.proto(POINTER, ['uint32_t']), API_VERSION) as Handle | null;
    if (!api) throw new OrtError(`the library ${library} is older than version 1.${API_VERSION} of ONNX Runtime`);
    const slots = koffi.decode(api, `void *[${SLOTS}]`) as Handle[];
    const entries = Object.entries(FUNCTIONS).map(([name, [slot, type, parameters]]) => [
      name,
      koffi.decode(slots[slot], koffi.proto(type, [...parameters])) as KoffiFunction,
    ]);
    this.#functions = Object.fromEntries(entries) as Record<Name, KoffiFunction>;
  }

  /** Call a function that returns a status. @throws OrtError */
  call(name: Name, ...parameters: unknown[]): void {
    this.#check(this.#functions[name](...parameters));
  }

  /** Call a function whose last argument receives an object, and return it. @throws OrtError */
  make(name: Name, ...parameters: unknown[]): Handle {
    const made: [Handle | null] = [null];
    this.call(name, ...parameters, made);
    return made[0] as Handle;
  }

  /** Call a function whose last argument receives a number. @throws OrtError */
  number(name: Name, ...parameters: unknown[]): number {
    const found = [0];
    this.call(name, ...parameters, found);
    return Number(found[0]);
  }

  release(name: Extract<Name, `release${string}`>, handle: Handle): void {
    this.#functions[name](handle);
  }

  /** Run a session on a separate thread, to keep this one free. @throws OrtError */
  async run(...parameters: unknown[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<Handle | null>();
    this.#functions.run.async(...parameters, (error: unknown, status: Handle | null) =>
      error ? reject(error) : resolve(status),
    );
    this.#check(await promise);
  }

  #check(status: Handle | null): void {
    if (!status) return;
    const message = this.#functions.getErrorMessage(status) as string;
    this.#functions.releaseStatus(status);
    throw new OrtError(message);
  }
}

export function readString(address: Handle): string {
  return koffi.decode.string(address);
}

export function copyBytes(address: Handle, bytes: number): ArrayBuffer {
  return bytes === 0 ? new ArrayBuffer(0) : koffi.view(address, bytes).slice(0);
}
