/** Text item as reported by pdf.js, in PDF space: origin bottom left, y upwards, unit 1/72 inch. */
export interface PdfTextItem {
  readonly str: string;
  /** Start of the baseline. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly fontSize: number;
  /** Angle in degrees, 0 for upright text. */
  readonly angle: number;
  readonly endsLine: boolean;
}

export interface PdfLine {
  text: string;
  left: number;
  right: number;
  readonly y: number;
  /** Font size of most characters. */
  fontSize: number;
}

export function linesInReadingOrder(items: readonly PdfTextItem[], pageWidth: number): PdfLine[] {
  return order(toLines(items), pageWidth);
}

/** Join items on a baseline, in content stream order. A gap becomes a blank. */
function toLines(items: readonly PdfTextItem[]): PdfLine[] {
  const lines: PdfLine[] = [];
  let parts: string[] = [];
  let line: PdfLine | null = null;
  let angle = 0;
  let broken = true;
  const sizes = new Map<number, number>();
  const close = () => {
    if (line === null) return;
    line.text = parts.join('').replace(/\s+/g, ' ').trim();
    if (line.text !== '') {
      line.fontSize = mostFrequent(sizes) ?? line.fontSize;
      lines.push(line);
    }
    line = null;
    parts = [];
    sizes.clear();
  };
  for (const item of items) {
    if (item.str === '') {
      broken ||= item.endsLine;
      continue;
    }
    const blank = item.str.trim() === '';
    if (line !== null && !blank) {
      const size = Math.max(line.fontSize, item.fontSize);
      const sameBaseline = Math.abs(item.y - line.y) <= size * 0.5 && item.angle === angle;
      const gap = item.x - line.right;
      // A line end within a baseline is a cell or column boundary if the gap is wide, otherwise a superscript.
      if (!sameBaseline || gap < -size * 2 || gap > size * (broken ? 1.5 : 8)) close();
      else if (gap > size * 0.25 || broken) parts.push(' ');
    }
    if (line === null) {
      if (blank) continue;
      line = { text: '', left: item.x, right: item.x, y: item.y, fontSize: item.fontSize };
      angle = item.angle;
    }
    parts.push(item.str);
    if (!blank) {
      line.right = Math.max(line.right, item.x + item.width);
      line.left = Math.min(line.left, item.x);
      const roundedSize = Math.round(item.fontSize * 2) / 2;
      sizes.set(roundedSize, (sizes.get(roundedSize) ?? 0) + item.str.length);
    }
    broken = item.endsLine;
  }
  close();
  return lines;
}

/**
 * Order lines for reading. The content stream is usually in reading order, including columns, and is kept as long as it
 * runs downwards. If it jumps back up within a column, sort lines by position instead, column by column if the page has
 * two.
 */
function order(lines: PdfLine[], pageWidth: number): PdfLine[] {
  let jumps = 0;
  for (let i = 1; i < lines.length; i++) {
    const above = lines[i - 1] as PdfLine;
    const line = lines[i] as PdfLine;
    const overlaps = line.left < above.right && above.left < line.right;
    if (overlaps && line.y > above.y + above.fontSize) jumps++;
  }
  if (jumps === 0) return lines;
  const gutter = findGutter(lines, pageWidth);
  if (gutter === null) return lines.toSorted(byPosition);

  // Lines across the gutter (titles) divide the page into bands; the left column of each band is read first.
  const ordered: PdfLine[] = [];
  let leftColumn: PdfLine[] = [];
  let rightColumn: PdfLine[] = [];
  for (const line of lines.toSorted(byPosition)) {
    if (line.right <= gutter) leftColumn.push(line);
    else if (line.left >= gutter) rightColumn.push(line);
    else {
      ordered.push(...leftColumn, ...rightColumn, line);
      leftColumn = [];
      rightColumn = [];
    }
  }
  ordered.push(...leftColumn, ...rightColumn);
  return ordered;
}

function byPosition(a: PdfLine, b: PdfLine): number {
  return Math.abs(a.y - b.y) > Math.min(a.fontSize, b.fontSize) * 0.3 ? b.y - a.y : a.left - b.left;
}

/** Find the x in the middle third that the fewest lines cross; null unless very few do and both sides have text. */
function findGutter(lines: readonly PdfLine[], pageWidth: number): number | null {
  let best: { x: number; crossing: number } | null = null;
  for (let step = 0; step <= 40; step++) {
    const x = pageWidth * (1 / 3 + step / 120);
    let crossing = 0;
    for (const line of lines) if (line.left < x && line.right > x) crossing++;
    if (best === null || crossing < best.crossing) best = { x, crossing };
  }
  if (best === null || best.crossing > lines.length * 0.2) return null;
  const { x } = best;
  const left = lines.filter((line) => line.right <= x).length;
  const right = lines.filter((line) => line.left >= x).length;
  return Math.min(left, right) >= lines.length * 0.2 ? x : null;
}

function mostFrequent(counts: ReadonlyMap<number, number>): number | null {
  let best: number | null = null;
  let bestCount = 0;
  for (const [value, count] of counts) {
    if (count > bestCount) {
      best = value;
      bestCount = count;
    }
  }
  return best;
}
