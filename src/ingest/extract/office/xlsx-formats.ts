import { format } from 'numfmt';
import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';

/**
 * Formats that a file refers to only by number (ISO/IEC 29500-1, 18.8.30). Programs display 14 and 22 in the format of
 * the user's system; here they are ISO 8601.
 */
const BUILT_IN: Readonly<Record<number, string>> = {
  0: 'General',
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  9: '0%',
  10: '0.00%',
  11: '0.00E+00',
  12: '# ?/?',
  13: '# ??/??',
  14: 'yyyy-mm-dd',
  15: 'd-mmm-yy',
  16: 'd-mmm',
  17: 'mmm-yy',
  18: 'h:mm AM/PM',
  19: 'h:mm:ss AM/PM',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'yyyy-mm-dd h:mm',
  37: '#,##0 ;(#,##0)',
  38: '#,##0 ;[Red](#,##0)',
  39: '#,##0.00;(#,##0.00)',
  40: '#,##0.00;[Red](#,##0.00)',
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mmss.0',
  48: '##0.0E+0',
  49: '@',
};
/** Date formats in East Asian systems: 27 to 31, 36, 50 to 54, 57 and 58; the others in this range are times. */
const EAST_ASIAN_DATES = new Set([27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58]);
const EAST_ASIAN_TIMES = new Set([32, 33, 34, 35, 55, 56]);
/** Maximum length of a pattern, as in Excel. A longer one isn't a format. */
const PATTERN_CHARS_MAX = 255;
/** Numbers from which General uses an exponent, and above which spreadsheets don't keep all digits. */
const GENERAL_MAX = 1e11;
const EXACT_MAX = 1e15;
/** Numbers from which General has no room for decimals. */
const NO_DECIMALS_MIN = 1e9;
/** Days between the epochs of the two calendars. */
const DAYS_TO_1904 = 1462;

/** Number formats of a workbook's cells. */
export class CellFormats {
  /** Patterns by cell style index. */
  readonly #patterns: string[] = [];
  readonly #is1904: boolean;

  private constructor(is1904: boolean) {
    this.#is1904 = is1904;
  }

  static async read(zip: Zip, part: string | null, is1904: boolean): Promise<CellFormats> {
    const formats = new CellFormats(is1904);
    if (part === null || !zip.has(part)) return formats;
    const own = new Map<number, string>();
    let isCellFormat = false;
    await parseXml(zip.stream(part), {
      open(name, attributes) {
        if (name === 'x:cellXfs') isCellFormat = true;
        else if (name === 'x:numFmt') own.set(Number(attributes['numFmtId']), attributes['formatCode'] ?? '');
        else if (name === 'x:xf' && isCellFormat) {
          const id = Number(attributes['numFmtId']);
          formats.#patterns.push(own.get(id) ?? builtIn(id));
        }
      },
      close(name) {
        if (name === 'x:cellXfs') isCellFormat = false;
      },
    });
    return formats;
  }

  /** Format a cell's number. @param value number as stored in the file */
  show(value: string, style: number): string {
    return showNumber(value, this.#patterns[style] ?? 'General', this.#is1904);
  }
}

/** Format a number by a pattern. A value that isn't a number, or has an unknown pattern, stays unchanged. */
export function showNumber(value: string, pattern: string, is1904 = false): string {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number) || pattern.length > PATTERN_CHARS_MAX) return value;
  // General shows 12 or more digits as 1.23457E+14, which makes accounts and barcodes unsearchable. Below that, it
  // rounds decimals that don't fit, where numfmt truncates them.
  const size = Math.abs(number);
  const isWhole = Number.isInteger(number);
  const areDigits = isWhole ? size >= GENERAL_MAX && size < EXACT_MAX : size >= NO_DECIMALS_MIN && size < GENERAL_MAX;
  const shown = areDigits ? pattern.replace(/"[^"]*"|\\.|General|@/gi, digitsForGeneral) : pattern;
  try {
    return format(shown, is1904 && isDate(pattern) ? number + DAYS_TO_1904 : number, { overflow: value });
  } catch {
    return value; // numfmt doesn't know the format.
  }
}

function digitsForGeneral(part: string): string {
  return /^(?:General|@)$/i.test(part) ? '0' : part;
}

function builtIn(id: number): string {
  if (EAST_ASIAN_DATES.has(id)) return 'yyyy-mm-dd';
  if (EAST_ASIAN_TIMES.has(id)) return 'h:mm:ss';
  return BUILT_IN[id] ?? 'General';
}

/** Return true for a pattern with a date letter outside quotes, escapes and brackets. */
function isDate(pattern: string): boolean {
  return /[ymdhs]/i.test(pattern.replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]|General/g, ''));
}
