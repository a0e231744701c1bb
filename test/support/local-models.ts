import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openFolder } from '../../src/local-models/install/folder-source.ts';
import { type Installed, type InstallRequest, installModel } from '../../src/local-models/install/install-model.ts';
import type { ModelSource } from '../../src/local-models/install/source.ts';
import { findLibrary } from '../../src/local-models/runtime/find-library.ts';
import type { ModelArgument } from '../../src/local-models/runtime/protocol.ts';

/** Folder of the small models and of their reference values; its README says how they are made. */
export const FIXTURES = fileURLToPath(new URL('../fixtures/local-models/', import.meta.url));

/** Dimension of the vectors of the small models. */
export const DIMENSION = 32;
/** Token limit of the small embedding models. */
export const TOKENS_MAX = 64;

function unpack(file: string): Buffer<ArrayBuffer> {
  return Buffer.from(gunzipSync(readFileSync(path.join(FIXTURES, file))));
}

/** 1,000 texts in ten scripts. */
export function referenceTexts(): string[] {
  return JSON.parse(unpack('texts.json.gz').toString('utf8')) as string[];
}

/** Read the tokens of each text from Python's `tokenizers`, cut to 64. */
export function referenceTokens(name: string): number[][] {
  const bytes = unpack(`${name}.tokens.gz`);
  const rows: number[][] = [];
  for (let at = 0; at < bytes.length; ) {
    const count = bytes.readUInt16LE(at);
    rows.push(Array.from({ length: count }, (_, nth) => bytes.readUInt16LE(at + 2 + nth * 2)));
    at += 2 + count * 2;
  }
  return rows;
}

/**
 * Read the vectors of the texts from Python's `onnxruntime`, one text at a time. As binary16 they have an error of 0.05
 * %.
 */
export function referenceVectors(name: string): Float32Array {
  const bytes = unpack(`${name}.vectors.gz`);
  return Float32Array.from({ length: bytes.length / 2 }, (_, at) => fromHalf(bytes.readUInt16LE(at * 2)));
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Return the lowest cosine between rows of two arrays. */
export function lowestCosine(a: Float32Array, b: Float32Array, rows: readonly number[], dimension = DIMENSION): number {
  let lowest = 1;
  for (const row of rows) {
    const [x, y] = [a, b].map((all) => all.subarray(row * dimension, (row + 1) * dimension));
    const dot = (u: Float32Array, v: Float32Array) => u.reduce((sum, value, at) => sum + value * (v[at] as number), 0);
    const [u, v] = [x as Float32Array, y as Float32Array];
    lowest = Math.min(lowest, dot(u, v) / Math.sqrt(dot(u, u) * dot(v, v)));
  }
  return lowest;
}

/** Build the argument of the process of a small model. */
export function argumentOf(name: 'bert' | 'decoder' | 'reranker', more: Partial<ModelArgument> = {}): ModelArgument {
  const folder = path.join(FIXTURES, name);
  return {
    library: findLibrary(null),
    model: path.join(folder, 'onnx/model.onnx'),
    sha256: null,
    tokenizer: path.join(folder, 'tokenizer.json'),
    kind: name === 'reranker' ? 'reranker' : 'embedding',
    pooling: name === 'decoder' ? 'last' : 'mean',
    maxTokens: name === 'reranker' ? 256 : TOKENS_MAX,
    longTexts: 'cut',
    padId: 0,
    threads: 1,
    batchTokensMax: 2048,
    ...more,
  };
}

/** Copy a small model to a new folder, which `change` may corrupt. */
export function copyModel(name: string, change: (folder: string) => void = () => {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-model-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(path.join(FIXTURES, name), folder, { recursive: true });
  change(folder);
  return folder;
}

/** Copy the small encoder with its weights in a file beside it, and with its variant of half precision. */
export function copyVariants(change: (folder: string) => void = () => {}): string {
  return copyModel('bert', (folder) => {
    cpSync(path.join(FIXTURES, 'variants'), folder, { recursive: true });
    change(folder);
  });
}

/** Install a small model into an installation, from a folder or another source. */
export async function install(
  appliance: Appliance,
  from: string | ModelSource,
  more: Partial<InstallRequest> = {},
): Promise<Installed> {
  const source = typeof from === 'string' ? await openFolder(path.resolve(FIXTURES, from)) : from;
  const installed = await installModel(appliance, {
    name: 'local/small',
    kind: 'embedding',
    variant: 'fp32',
    source,
    actor: 'operator:test',
    confirm: async () => {},
    onProgress: () => {},
    signal: new AbortController().signal,
    ...more,
  });
  await appliance.localModels.refresh();
  return installed;
}
