import type { PdfPage } from '../load-pdfjs.ts';
import type { PdfTextItem } from '../pdf-lines.ts';

/** Flags of invisible annotations (PDF 32000-1, 12.5.3): hidden, and not on screen. */
const INVISIBLE = 2 | 32;
const FONT_SIZE = 10;
/** Check box values that only mean "checked". */
const CHECKED = /^(?:yes|on|off|true|\d{1,2}|choice\d*|checked)?$/i;

/** Properties of pdf.js annotations that are used here. */
interface Annotation {
  readonly subtype?: string;
  readonly annotationFlags?: number;
  readonly rect?: readonly number[];
  readonly fieldType?: string;
  readonly fieldValue?: unknown;
  readonly password?: boolean;
  /** Value that a radio button or check box gives its field. */
  readonly buttonValue?: string | null;
  readonly exportValue?: string | null;
  readonly options?: ReadonlyArray<{ exportValue?: string; displayValue?: string }>;
  readonly defaultAppearanceData?: { fontSize?: number };
  readonly contentsObj?: { str?: string };
  readonly textContent?: readonly string[];
}

/** Read form field values and text typed onto a page, each as the items of its lines at their positions. */
export async function formItems(page: PdfPage): Promise<PdfTextItem[][]> {
  const annotations = (await page.getAnnotations({ intent: 'display' })) as Annotation[];
  return annotations
    .filter(({ annotationFlags = 0 }) => (annotationFlags & INVISIBLE) === 0)
    .map((annotation) => itemsOf(textOf(annotation), annotation))
    .filter((lines) => lines.length > 0);
}

function textOf(annotation: Annotation): string {
  const { subtype, fieldType, fieldValue, contentsObj, textContent, options = [] } = annotation;
  if (subtype === 'FreeText') return contentsObj?.str || (textContent ?? []).join('\n');
  if (subtype !== 'Widget' || annotation.password === true) return '';
  const values = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]).filter((value) => typeof value === 'string');
  if (fieldType === 'Tx') return values.join('\n');
  if (fieldType === 'Ch')
    return values
      .map((value) => options.find(({ exportValue }) => exportValue === value)?.displayValue ?? value)
      .join(', ');
  // Return a named choice only at the button that was chosen, not at the other buttons of its field.
  const own = annotation.buttonValue ?? annotation.exportValue ?? values[0];
  return fieldType === 'Btn' ? values.filter((value) => value === own && !CHECKED.test(value)).join(', ') : '';
}

/** Place the lines of a text: a single one in the middle of its box, several from the top. */
function itemsOf(text: string, { rect, defaultAppearanceData }: Annotation): PdfTextItem[] {
  const lines = text.split(/\r\n?|\n/).filter((line) => line.trim() !== '');
  const [left = 0, bottom = 0, right = 0, top = 0] = rect ?? [];
  const fontSize = defaultAppearanceData?.fontSize || FONT_SIZE;
  const height = top - bottom;
  const first = lines.length === 1 && height < fontSize * 3 ? top - (height + fontSize * 0.6) / 2 : top - fontSize;
  return lines.map((str, index) => ({
    str,
    x: left,
    y: first - index * fontSize * 1.2,
    width: Math.min(right - left, str.length * fontSize * 0.5),
    fontSize,
    angle: 0,
    endsLine: true,
  }));
}

/** Insert values after the text to their left, or else in order from top to bottom. */
export function insertItems(
  items: readonly PdfTextItem[],
  values: ReadonlyArray<readonly PdfTextItem[]>,
): PdfTextItem[] {
  const merged = [...items];
  for (const lines of values) {
    const [first, ...others] = lines as readonly [PdfTextItem, ...PdfTextItem[]];
    // Some programs also draw the value onto the page.
    if (items.some((item) => isSameText(item, first))) continue;
    const label = merged.findLastIndex((item) => isLabel(item, first));
    if (label >= 0) {
      const own = merged[label] as PdfTextItem;
      // On the same line as its label.
      merged[label] = { ...own, endsLine: false };
      merged.splice(label + 1, 0, { ...first, y: own.y, fontSize: own.fontSize }, ...others);
      continue;
    }
    const below = merged.findIndex(({ str, y }) => str.trim() !== '' && y < first.y);
    merged.splice(below < 0 ? merged.length : below, 0, ...lines);
  }
  return merged;
}

function isSameText({ str, x, y }: PdfTextItem, value: PdfTextItem): boolean {
  return str.trim() === value.str.trim() && Math.abs(y - value.y) < value.fontSize * 2 && x >= value.x - 2;
}

function isLabel({ str, x, y, width }: PdfTextItem, value: PdfTextItem): boolean {
  return str.trim() !== '' && Math.abs(y - value.y) <= value.fontSize * 0.8 && x + width <= value.x + 2;
}
