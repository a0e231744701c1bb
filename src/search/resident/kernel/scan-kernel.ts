import { readFileSync } from 'node:fs';

/** Exports of `scan.as.ts`. Addresses are in bytes; see the comments there. */
export interface ScanKernel {
  rotate(x: number, signs: number): void;
  encode(x: number, block: number, row: number): void;
  prepareQuery(query: number, bytes: number, length: number): void;
  scan(block: number, rows: number, bytes: number, bounds: number): void;
  select(
    bounds: number,
    rows: number,
    least: number,
    below: number,
    first: number,
    list: number,
    selected: number,
  ): number;
  estimate(
    parts: number,
    toMargins: number,
    toOffsets: number,
    list: number,
    count: number,
    bytes: number,
    bounds: number,
    added: number,
  ): number;
  refine(list: number, count: number, query: number, products: number): number;
  encodeSketch(high: number, sketches: number, row: number): void;
  listComponents(query: number, list: number): void;
  countSigns(sketches: number, rows: number, list: number, scratch: number, planes: number): number;
  countReaching(planes: number, rows: number, least: number, allowed: number): number;
  listReaching(planes: number, rows: number, least: number, below: number, allowed: number, list: number): number;
  packFlags(flags: number, rows: number, bits: number): void;
}

/** Memory of a kernel, which threads may share. Views of it have the part that was there when they were made. */
export interface ScanMemory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}

/** Used part of the WebAssembly API; neither the ECMAScript nor the Node typings declare it. */
interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => ScanMemory;
  readonly Instance: new (module: object, imports: { env: { memory: ScanMemory } }) => { readonly exports: unknown };
}

const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;

/** Builds in order of preference: with dot products of bytes, then with plain SIMD. */
export const SCAN_BUILDS = ['scan-relaxed-simd.wasm', 'scan-simd.wasm'] as const;
export type ScanBuild = (typeof SCAN_BUILDS)[number];

export const PAGE_BYTES = 65_536;
/** Bound of the memory, by addresses of 32 bits. */
export const PAGES_MAX = 65_536;

/**
 * Instantiate the first build that the engine accepts.
 *
 * @param given memory of a kernel of another thread; otherwise the kernel has a memory of its own
 * @throws Error if the engine accepts none
 */
export function openScanKernel(
  builds: readonly ScanBuild[] = SCAN_BUILDS,
  given?: ScanMemory,
): { readonly kernel: ScanKernel; readonly memory: ScanMemory; readonly build: ScanBuild } {
  for (const build of builds) {
    const bytes = readFileSync(new URL(build, import.meta.url));
    if (!webAssembly.validate(bytes)) continue;
    const memory = given ?? new webAssembly.Memory({ initial: 1, maximum: PAGES_MAX, shared: true });
    const { exports } = new webAssembly.Instance(new webAssembly.Module(bytes), { env: { memory } });
    return { kernel: exports as ScanKernel, memory, build };
  }
  throw new Error(
    `this JavaScript engine runs none of ${builds.join(', ')}: it lacks WebAssembly SIMD or shared memory; use Node 24`,
  );
}
