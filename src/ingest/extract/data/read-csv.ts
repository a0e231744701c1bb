import type { BlockSink } from '../reader.ts';
import { RowTable } from '../row-table.ts';
import { CsvParser } from './csv-parser.ts';

const DELIMITERS = [',', ';', '\t', '|'];
const SNIFF_CHARS = 64 * 1024;
const SNIFF_ROWS_MAX = 50;

/**
 * Read a file of separated values as a table. Every part of the table repeats the column names. Hold only the current
 * window and a few rows.
 * @param windows the text in consecutive windows
 * @param delimiter null to use that of `, ; tab` and the vertical bar that splits the first rows most evenly
 * @throws ExtractError `corrupt`, `too_large`
 */
export async function readCsv(
  windows: AsyncIterable<string>,
  sink: BlockSink,
  delimiter: string | null,
): Promise<void> {
  const table = new RowTable((block) => sink.add(block));
  let parser: CsvParser | null = null;
  let start = '';
  const begin = () => {
    const hint = /^sep=([^\r\n])\r?\n/.exec(start);
    const own = new CsvParser(delimiter ?? hint?.[1] ?? sniffDelimiter(start), (cells) => table.addRow(cells));
    own.write(start.slice(hint?.[0].length ?? 0));
    start = '';
    return own;
  };
  for await (const window of windows) {
    if (parser !== null) {
      parser.write(window);
    } else {
      start += window;
      if (start.length >= SNIFF_CHARS) parser = begin();
    }
    await sink.flush();
  }
  parser ??= begin();
  parser.end();
  table.end();
}

/** Find the delimiter that gives most rows the same number of cells, more than one. */
function sniffDelimiter(text: string): string {
  let best = ',';
  let bestScore = 0;
  for (const delimiter of DELIMITERS) {
    const counts = new Map<number, number>();
    let rows = 0;
    const parser = new CsvParser(delimiter, (cells) => {
      if (rows >= SNIFF_ROWS_MAX || (cells.length === 1 && cells[0]?.trim() === '')) return;
      rows++;
      counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
    });
    parser.write(text);
    for (const [cells, times] of counts) {
      const score = cells < 2 ? 0 : (times / rows) * (1 + Math.log2(cells) / 100);
      if (score > bestScore) {
        best = delimiter;
        bestScore = score;
      }
    }
  }
  return best;
}
