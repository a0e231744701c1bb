import { readFileSync } from 'node:fs';

/** What `kernel.as.ts` exports. Addresses and strides are in bytes; see the comments there. */
export interface Kernel {
  multiply(
    a: number,
    aStride: number,
    rows: number,
    k: number,
    w: number,
    panels: number,
    c: number,
    cStride: number,
  ): void;
  subtractMean(a: number, rows: number, k: number, mean: number): void;
  normalizeRows(c: number, rows: number, cStride: number, d: number): number;
  transpose(source: number, rows: number, columns: number, target: number): void;
}

/** A compiled module; opaque. It can be sent to another thread, which then shares its machine code. */
export type KernelModule = object;

/** The memory that a kernel works in, shared between threads. */
export interface KernelMemory {
  readonly buffer: SharedArrayBuffer;
}

/** The part used here; neither the ECMAScript nor the Node typings declare it. */
interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean;
  readonly Module: new (bytes: Uint8Array) => KernelModule;
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => KernelMemory;
  readonly Instance: new (
    module: KernelModule,
    imports: { env: { memory: KernelMemory } },
  ) => { readonly exports: unknown };
}

const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;

/** With fused multiply-add where the engine offers it, else with plain SIMD. */
export const KERNEL_BUILDS = ['kernel-relaxed-simd.wasm', 'kernel-simd.wasm'] as const;
export type KernelBuild = (typeof KERNEL_BUILDS)[number];

const PAGE_BYTES = 65_536;

/** Addresses are 32 bits wide. */
export const MEMORY_BYTES_MAX = 2 ** 32 - PAGE_BYTES;

let threadModule: KernelModule | undefined;

/** The kernel of this thread: the fastest build that the engine accepts, compiled at its first use. */
export function kernelModule(): KernelModule {
  threadModule ??= compileFirstValid(KERNEL_BUILDS);
  return threadModule;
}

/** @throws Error when the engine accepts none of the builds */
export function compileFirstValid(builds: readonly KernelBuild[]): KernelModule {
  for (const build of builds) {
    const bytes = readFileSync(new URL(build, import.meta.url));
    if (webAssembly.validate(bytes)) return new webAssembly.Module(bytes);
  }
  throw new Error(`this JavaScript engine runs none of ${builds.join(', ')}: it lacks WebAssembly SIMD`);
}

/**
 * Zeros, of a fixed size: it never grows, so that views of it stay valid. Pages take up real memory once written to.
 *
 * @throws RangeError beyond `MEMORY_BYTES_MAX`
 */
export function allocateKernelMemory(bytes: number): KernelMemory {
  if (bytes > MEMORY_BYTES_MAX) throw new RangeError(`${bytes} bytes are more than WebAssembly addresses`);
  const pages = Math.max(1, Math.ceil(bytes / PAGE_BYTES));
  return new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

export function instantiateKernel(module: KernelModule, memory: KernelMemory): Kernel {
  return new webAssembly.Instance(module, { env: { memory } }).exports as Kernel;
}
