import { readFileSync } from 'node:fs';

type Multiply = (
  a: number,
  aStride: number,
  rows: number,
  k: number,
  w: number,
  panels: number,
  c: number,
  cStride: number,
) => void;

/** Exports of `kernel.as.ts`. Addresses and strides are in bytes; see the comments there. */
export interface Kernel {
  readonly multiply: Multiply;
  readonly multiplyIntegers: Multiply;
  roundPanel(panel: number, k: number, target: number, norms: number): void;
  roundRows(a: number, rows: number, k: number, mean: number): number;
  normalizeRows(c: number, rows: number, cStride: number, d: number, scales: number): void;
  transpose(source: number, rows: number, columns: number, target: number): void;
}

/** Opaque compiled module. Threads that receive it share its machine code. */
export type KernelModule = object;

/** Memory of a kernel, shared between threads. */
export interface KernelMemory {
  readonly buffer: SharedArrayBuffer;
}

/** Subset of the WebAssembly API in use, which neither the ECMAScript nor the Node typings declare. */
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

/** Builds in order of preference: with fused multiply-add, then with plain SIMD. */
export const KERNEL_BUILDS = ['kernel-relaxed-simd.wasm', 'kernel-simd.wasm'] as const;
export type KernelBuild = (typeof KERNEL_BUILDS)[number];

const PAGE_BYTES = 65_536;

/** Maximum memory size with 32-bit addresses. */
export const MEMORY_BYTES_MAX = 2 ** 32 - PAGE_BYTES;

let threadModule: KernelModule | undefined;

/** Return this thread's kernel: the fastest build that the engine accepts, compiled on first use. */
export function kernelModule(): KernelModule {
  threadModule ??= compileFirstValid(KERNEL_BUILDS);
  return threadModule;
}

/** Compile the first build that the engine accepts. @throws Error if it accepts none */
export function compileFirstValid(builds: readonly KernelBuild[]): KernelModule {
  for (const build of builds) {
    const bytes = readFileSync(new URL(build, import.meta.url));
    if (webAssembly.validate(bytes)) return new webAssembly.Module(bytes);
  }
  throw new Error(`this JavaScript engine runs none of ${builds.join(', ')}: it lacks WebAssembly SIMD; use Node 24`);
}

/**
 * Allocate zeroed memory of a fixed size. It never grows, so views of it stay valid. Pages use physical memory only
 * once written.
 *
 * @throws RangeError for more than `MEMORY_BYTES_MAX`
 */
export function allocateKernelMemory(bytes: number): KernelMemory {
  if (bytes > MEMORY_BYTES_MAX) throw new RangeError(`${bytes} bytes are more than WebAssembly addresses`);
  const pages = Math.max(1, Math.ceil(bytes / PAGE_BYTES));
  return new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

export function instantiateKernel(module: KernelModule, memory: KernelMemory): Kernel {
  return new webAssembly.Instance(module, { env: { memory } }).exports as Kernel;
}
