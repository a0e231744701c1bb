import { readFileSync } from 'node:fs';

/** Exports of `rows.as.ts`. Addresses are in bytes; see the comments there. */
export interface RowKernel {
  rotate(x: number, signs: number): void;
  encode(x: number, high: number, rest: number, scales: number): void;
  prepareQuery(query: number, bytes: number, length: number): void;
  estimate(
    high: number,
    steps: number,
    list: number,
    count: number,
    bytes: number,
    bounds: number,
    added: number,
  ): number;
  refine(high: number, rest: number, step: number, query: number): number;
  encodeSketch(high: number, sketch: number, row: number): void;
  listComponents(query: number, list: number): void;
  countSigns(sketch: number, rows: number, list: number, scratch: number, planes: number): number;
  countReaching(planes: number, rows: number, least: number, allowed: number): number;
  listReaching(planes: number, rows: number, least: number, below: number, allowed: number, list: number): number;
  packFlags(flags: number, rows: number, bits: number): void;
}

/** Memory of a kernel. Growth detaches its views. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** Subset of the WebAssembly API in use; neither the ECMAScript nor the Node typings declare it. */
interface WebAssemblyApi {
  validate(bytes: Uint8Array): boolean;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (limits: { initial: number; maximum: number }) => WasmMemory;
  readonly Instance: new (module: object, imports: { env: { memory: WasmMemory } }) => { readonly exports: unknown };
}

const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;

/** Builds in order of preference: with byte dot products, then with plain SIMD. */
export const ROW_BUILDS = ['rows-relaxed-simd.wasm', 'rows-simd.wasm'] as const;
export type RowBuild = (typeof ROW_BUILDS)[number];

export const PAGE_BYTES = 65_536;
/** Maximum number of memory pages with 32-bit addresses. */
export const PAGES_MAX = 65_536;

/** Instantiate the first build that the engine accepts. @throws Error if it accepts none */
export function openRowKernel(builds: readonly RowBuild[] = ROW_BUILDS): {
  readonly kernel: RowKernel;
  readonly memory: WasmMemory;
} {
  for (const build of builds) {
    const bytes = readFileSync(new URL(build, import.meta.url));
    if (!webAssembly.validate(bytes)) continue;
    const memory = new webAssembly.Memory({ initial: 1, maximum: PAGES_MAX });
    const { exports } = new webAssembly.Instance(new webAssembly.Module(bytes), { env: { memory } });
    return { kernel: exports as RowKernel, memory };
  }
  throw new Error(`this JavaScript engine runs none of ${builds.join(', ')}: it lacks WebAssembly SIMD; use Node 24`);
}
