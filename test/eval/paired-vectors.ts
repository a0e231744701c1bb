import { readFileSync } from 'node:fs';
import { pickRows } from '../../src/projection/fit/rows.ts';

const DATA = new URL('../../../shared/data/paired/', import.meta.url);

export interface Vectors {
  readonly values: Float32Array;
  readonly columns: number;
}

export function fileOf(name: string): URL {
  return new URL(`${name}.npy`, DATA);
}

/** Read the rows of several files into one matrix. */
export function readAll(names: readonly string[]): Vectors {
  const parts = names.map((name) => readNpy(fileOf(name)));
  const values = new Float32Array(parts.reduce((sum, part) => sum + part.values.length, 0));
  let at = 0;
  for (const part of parts) {
    values.set(part.values, at);
    at += part.values.length;
  }
  return { values, columns: (parts[0] as Vectors).columns };
}

/** Read a matrix of little-endian float32 in C order, NPY format 1.0 (numpy.lib.format). */
export function readNpy(file: URL): Vectors {
  const bytes = readFileSync(file);
  const headerEnd = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, headerEnd);
  const shape = /'shape': \((\d+), (\d+)\)/.exec(header);
  if (!header.includes("'<f4'") || !header.includes("'fortran_order': False") || !shape) {
    throw new Error(`${file.pathname} is not a float32 matrix: ${header}`);
  }
  return { values: new Float32Array(Uint8Array.from(bytes.subarray(headerEnd)).buffer), columns: Number(shape[2]) };
}

/** Drop duplicate texts, which recall cannot distinguish. */
export function dropDuplicates(x: Vectors, y: Vectors): [Vectors, Vectors] {
  const seen = new Set<string>();
  const kept: number[] = [];
  for (let row = 0; row * x.columns < x.values.length; row++) {
    // Four digits are compared, since the same text embedded in another batch differs in the last bits.
    const key = Array.from(y.values.subarray(row * y.columns, (row + 1) * y.columns), (value) =>
      value.toFixed(4),
    ).join();
    if (seen.has(key)) continue;
    seen.add(key);
    kept.push(row);
  }
  return [pick(x, kept), pick(y, kept)];
}

export function pick({ values, columns }: Vectors, rows: ArrayLike<number>): Vectors {
  return { values: pickRows(values, columns, rows), columns };
}
