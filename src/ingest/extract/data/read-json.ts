import type { BlockSink } from '../reader.ts';
import { JsonParser } from './json-parser.ts';
import { JsonRecords } from './json-records.ts';

/**
 * Read JSON or JSON Lines as lines of `path.to.key: value`, record by record. A record is a value of the file, or an
 * element of an array in its first two levels. Hold only the current record.
 * @param windows the text in consecutive windows
 * @throws ExtractError `corrupt`, `too_large`
 */
export async function readJson(
  windows: AsyncIterable<string>,
  sink: BlockSink,
  format: 'json' | 'jsonl',
): Promise<void> {
  const records = new JsonRecords((block) => sink.add(block), format === 'jsonl');
  const parser = new JsonParser(records);
  for await (const window of windows) {
    parser.write(window);
    await sink.flush();
  }
  parser.end({ mayBeCutOff: format === 'jsonl' });
  records.end();
}
