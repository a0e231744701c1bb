import zlib from 'node:zlib';
import { type Compressors, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { asyncBufferFromFile } from 'hyparquet/src/node.js';
import { chooseColumns, describeColumns, rowOf } from './choose-columns.ts';
import type { OldIndex, OldIndexOptions, OldRow } from './old-row.ts';

/** Rows to read at a time: 30 MB of 3,072-dimensional vectors in JavaScript. */
const SLICE_ROWS = 1_000;

/** Open a Parquet file with a column of ids and a column of lists of numbers. */
export async function openParquet(file: string, options: OldIndexOptions): Promise<OldIndex> {
  const source = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(source);
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  const columns = chooseColumns(names, options);
  const total = Number(metadata.num_rows);
  const read = [
    ...new Set([columns.id, columns.vector, ...(columns.text === null ? [] : [columns.text]), ...columns.metadata]),
  ];
  return {
    found: `Parquet: ${describeColumns(columns)}`,
    total,
    async *rows(): AsyncGenerator<OldRow> {
      for (let rowStart = 0; rowStart < total; rowStart += SLICE_ROWS) {
        const rowEnd = Math.min(total, rowStart + SLICE_ROWS);
        const rows = await parquetReadObjects({
          file: source,
          metadata,
          columns: read,
          rowStart,
          rowEnd,
          compressors: COMPRESSORS,
        });
        for (const [at, row] of rows.entries()) {
          yield rowOf(columns, (column) => row[column], { file, place: `row ${rowStart + at + 1}` });
        }
      }
    },
  };
}

/** Decompressors in addition to the library's Snappy. Node.js has Zstandard since 22.15. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes) => zlib.gunzipSync(bytes),
  BROTLI: (bytes) => zlib.brotliDecompressSync(bytes),
  ...('zstdDecompressSync' in zlib ? { ZSTD: (bytes: Uint8Array) => zlib.zstdDecompressSync(bytes) } : {}),
};
