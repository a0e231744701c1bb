import { readRange } from '../bulk/read-range.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { parseJsonLine } from './parse-lines.ts';
import type { PlannedText } from './plan.ts';

/** Maximum gap to read along between two lines, since another read costs more. */
const GAP_BYTES_MAX = 64 * 1024;
const RANGE_BYTES_MAX = 4 * 1024 * 1024;

interface Range {
  readonly start: number;
  end: number;
  readonly texts: { readonly index: number; readonly text: PlannedText }[];
}

/**
 * Read texts from an input, in the order of `texts`. Read adjacent lines together.
 * @throws AppError `object_not_found` (404), `object_damaged` (500), `objects_unavailable` (503)
 */
export async function readTexts(objects: Objects, inputKey: string, texts: readonly PlannedText[]): Promise<string[]> {
  const found = new Array<string>(texts.length);
  for (const range of rangesOf(texts)) {
    const bytes = Buffer.allocUnsafeSlow(range.end - range.start);
    await readRange(objects, inputKey, range.start, bytes);
    let lineAt = -1;
    let inputs: readonly string[] = [];
    for (const { index, text } of range.texts) {
      if (text.offset !== lineAt) {
        const from = text.offset - range.start;
        inputs = inputsOf(bytes.toString('utf8', from, from + text.length));
        lineAt = text.offset;
      }
      found[index] = inputs[text.place] as string;
    }
  }
  return found;
}

/** Merge lines into ranges of the input. */
function rangesOf(texts: readonly PlannedText[]): Range[] {
  const ranges: Range[] = [];
  const ordered = texts.map((text, index) => ({ index, text })).sort((a, b) => a.text.offset - b.text.offset);
  for (const item of ordered) {
    const { offset, length } = item.text;
    const last = ranges.at(-1);
    const end = offset + length;
    if (last && offset - last.end <= GAP_BYTES_MAX && end - last.start <= RANGE_BYTES_MAX) {
      last.end = Math.max(last.end, end);
      last.texts.push(item);
    } else if (last && offset < last.end) last.texts.push(item);
    else ranges.push({ start: offset, end, texts: [item] });
  }
  return ranges;
}

/** Return the texts of a line that the plan has already validated. */
function inputsOf(line: string): readonly string[] {
  const { input } = (parseJsonLine(line) as { body: { input: string | string[] } }).body;
  return typeof input === 'string' ? [input] : input;
}
