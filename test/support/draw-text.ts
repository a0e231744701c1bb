/**
 * Drawing of text without a font: capitals, digits and Hangul syllables with a round pen. Hangul syllables are composed
 * of their letters by layout rules. Optical character recognition can read the result.
 */

/** Grey pixels, row by row: 0 is black, 255 is white. */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

type Point = readonly [x: number, y: number];
type Stroke = readonly Point[];
type Box = readonly [left: number, top: number, right: number, bottom: number];

/** Strokes as `x,y x,y …`, separated by `;`, in hundredths of the box; `o left,top,right,bottom` is an ellipse. */
function strokesOf(drawing: string): Stroke[] {
  return drawing.split(';').map((stroke) => {
    const trimmed = stroke.trim();
    if (trimmed.startsWith('o ')) {
      const [left, top, right, bottom] = trimmed.slice(2).split(',').map(Number) as [number, number, number, number];
      return Array.from({ length: 33 }, (_, step): Point => {
        const angle = (step / 16) * Math.PI;
        return [
          (left + right) / 2 + ((right - left) / 2) * Math.cos(angle),
          (top + bottom) / 2 + ((bottom - top) / 2) * Math.sin(angle),
        ];
      });
    }
    return trimmed.split(' ').map((point) => point.split(',').map(Number) as unknown as Point);
  });
}

const LATIN: Readonly<Record<string, string>> = {
  A: '0,100 50,0 100,100; 18,64 82,64',
  B: '0,0 0,100 65,100 90,90 98,75 90,58 65,49 0,49; 65,49 85,40 90,25 83,9 60,0 0,0',
  C: '98,22 85,8 60,0 40,0 18,10 5,28 0,50 5,72 18,90 40,100 60,100 85,92 98,78',
  D: '0,0 0,100 50,100 78,92 94,74 100,50 94,26 78,8 50,0 0,0',
  E: '90,0 0,0 0,100 90,100; 0,49 80,49',
  F: '90,0 0,0 0,100; 0,49 80,49',
  G: '96,22 83,8 60,0 40,0 18,10 5,28 0,50 5,72 18,90 40,100 60,100 84,92 96,82 96,53 58,53',
  H: '0,0 0,100; 95,0 95,100; 0,48 95,48',
  I: '50,0 50,100',
  J: '75,0 75,75 66,93 45,100 22,95 10,80 8,68',
  K: '0,0 0,100; 92,0 0,62; 32,40 98,100',
  L: '0,0 0,100 85,100',
  M: '0,100 0,0 50,90 100,0 100,100',
  N: '0,100 0,0 92,100 92,0',
  O: 'o 0,0,104,100',
  P: '0,100 0,0 62,0 86,9 95,28 86,47 62,56 0,56',
  Q: 'o 0,0,104,100; 62,76 100,108',
  R: '0,100 0,0 62,0 86,8 94,26 86,44 62,52 0,52; 55,52 98,100',
  S: '90,20 78,6 55,0 35,0 14,8 6,24 14,40 35,47 60,52 84,60 93,76 84,92 60,100 35,100 12,93 2,76',
  T: '0,0 96,0; 48,0 48,100',
  U: '0,0 0,65 8,88 30,100 62,100 84,88 92,65 92,0',
  V: '0,0 50,100 100,0',
  W: '0,0 26,100 52,10 78,100 104,0',
  X: '0,0 96,100; 96,0 0,100',
  Y: '0,0 50,52 100,0; 50,52 50,100',
  Z: '4,0 94,0 0,100 98,100',
  '0': 'o 5,0,90,100',
  '1': '15,22 50,0 50,100',
  '2': '6,24 14,8 35,0 58,0 80,9 87,27 80,44 4,100 92,100',
  '3': '6,12 26,1 55,0 80,9 87,25 78,41 50,48 80,56 92,74 82,92 55,100 26,99 3,86',
  '4': '66,100 66,0 0,68 96,68',
  '5': '84,0 16,0 8,48 40,38 70,42 88,58 90,72 80,92 52,100 26,99 3,86',
  '6': '82,10 58,0 38,3 16,22 6,55 10,80 26,96 48,100 72,94 88,78 86,58 68,46 46,44 22,52 8,68',
  '7': '2,0 92,0 34,100',
  '8': 'o 10,0,84,46; o 3,46,91,100',
  '9': '12,90 36,100 56,97 78,78 88,45 84,20 68,4 46,0 22,6 6,22 8,42 26,54 48,56 72,48 86,32',
  '.': '46,99 54,99',
  '-': '12,58 82,58',
};
const NARROW = new Set('I1.');

/** Letters in the order of the syllable block: initial = floor((code - U+AC00) / 588), and so on (Unicode 3.12). */
const INITIALS = 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ';
const VOWELS = 'ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ';
const FINALS = ' ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ';

const CONSONANTS: Readonly<Record<string, string>> = {
  ㄱ: '5,10 90,10 86,50 74,95',
  ㄴ: '8,5 8,90 95,90',
  ㄷ: '92,8 8,8 8,92 95,92',
  ㄹ: '5,6 92,6 92,48 8,48 8,94 96,94',
  ㅁ: '8,6 92,6 92,94 8,94 8,6',
  ㅂ: '10,4 10,95 90,95 90,4; 10,48 90,48',
  ㅅ: '50,5 44,40 28,72 4,95; 47,38 66,74 96,95',
  ㅇ: 'o 8,4,92,96',
  ㅈ: '6,8 94,8; 50,8 44,42 28,74 4,96; 47,42 68,76 96,96',
  ㅊ: '34,0 66,0; 6,24 94,24; 50,24 44,52 28,78 4,98; 47,52 68,80 96,98',
  ㅋ: '5,10 90,10 86,50 74,95; 10,50 86,50',
  ㅌ: '92,6 8,6 8,94 95,94; 8,50 90,50',
  ㅍ: '4,8 96,8; 4,92 96,92; 30,8 30,92; 70,8 70,92',
  ㅎ: '34,2 66,2; 4,26 96,26; o 18,42,82,100',
};

const VERTICAL: Readonly<Record<string, string>> = {
  ㅏ: '45,0 45,100; 45,48 95,48',
  ㅑ: '45,0 45,100; 45,34 95,34; 45,64 95,64',
  ㅓ: '80,0 80,100; 10,48 80,48',
  ㅕ: '80,0 80,100; 10,34 80,34; 10,64 80,64',
  ㅐ: '30,0 30,100; 90,0 90,100; 30,48 90,48',
  ㅔ: '40,0 40,100; 95,0 95,100; 0,48 40,48',
  ㅣ: '60,0 60,100',
};

const HORIZONTAL: Readonly<Record<string, string>> = {
  ㅗ: '0,85 100,85; 50,15 50,85',
  ㅛ: '0,85 100,85; 32,15 32,85; 68,15 68,85',
  ㅜ: '0,15 100,15; 50,15 50,95',
  ㅠ: '0,15 100,15; 32,15 32,95; 68,15 68,95',
  ㅡ: '0,50 100,50',
};

interface Part {
  readonly drawing: string;
  readonly box: Box;
}

function hangulParts(character: string): Part[] {
  const code = character.charCodeAt(0) - 0xac00;
  const initial = INITIALS[Math.floor(code / 588)] ?? '';
  const vowel = VOWELS[Math.floor((code % 588) / 28)] ?? '';
  const final = FINALS[code % 28] ?? ' ';
  const closed = final !== ' ';
  const vertical = VERTICAL[vowel];
  const parts: Part[] =
    vertical === undefined
      ? [
          { drawing: drawingOf(CONSONANTS, initial), box: closed ? [24, 4, 76, 33] : [20, 6, 80, 48] },
          { drawing: drawingOf(HORIZONTAL, vowel), box: closed ? [4, 39, 96, 60] : [4, 54, 96, 94] },
        ]
      : [
          { drawing: drawingOf(CONSONANTS, initial), box: closed ? [4, 8, 54, 52] : [4, 14, 54, 80] },
          { drawing: vertical, box: closed ? [60, 2, 94, 58] : [60, 2, 94, 98] },
        ];
  if (closed) parts.push({ drawing: drawingOf(CONSONANTS, final), box: [22, 66, 86, 97] });
  return parts;
}

function drawingOf(drawings: Readonly<Record<string, string>>, letter: string): string {
  const drawing = drawings[letter];
  if (drawing === undefined) throw new Error(`no drawing of "${letter}"`);
  return drawing;
}

/** Return the shape of a character and the distance to the next one, as fractions of the letter height. */
function glyphOf(character: string): { parts: Part[]; advance: number } {
  if (character === ' ') return { parts: [], advance: 0.6 };
  if (character >= '가' && character <= '힣') {
    return { parts: hangulParts(character).map(({ drawing, box }) => ({ drawing, box })), advance: 1.12 };
  }
  const width = NARROW.has(character) ? 24 : 66;
  return { parts: [{ drawing: drawingOf(LATIN, character), box: [0, 0, width, 100] }], advance: width / 100 + 0.24 };
}

/** Draw lines of text in black on white. @param letterPx height of a capital, in pixels */
export function drawText(lines: readonly string[], { letterPx = 48, marginPx = 40 } = {}): Bitmap {
  const advances = lines.map((line) => [...line].reduce((sum, character) => sum + glyphOf(character).advance, 0));
  const width = Math.ceil(Math.max(0, ...advances) * letterPx) + 2 * marginPx;
  const height = Math.ceil(lines.length * letterPx * 1.7) + 2 * marginPx;
  const pixels = new Uint8Array(width * height).fill(255);
  const bitmap = { width, height, pixels };
  lines.forEach((line, row) => {
    let left = marginPx;
    const top = marginPx + row * letterPx * 1.7;
    for (const character of line) {
      const { parts, advance } = glyphOf(character);
      const pen = letterPx * (character >= '가' ? 0.075 : 0.12);
      for (const { drawing, box } of parts) {
        for (const stroke of strokesOf(drawing)) {
          const points = stroke.map(
            ([x, y]): Point => [
              left + ((box[0] + (x / 100) * (box[2] - box[0])) / 100) * letterPx,
              top + ((box[1] + (y / 100) * (box[3] - box[1])) / 100) * letterPx,
            ],
          );
          for (let i = 1; i < points.length; i++) drawLine(bitmap, points[i - 1] as Point, points[i] as Point, pen);
        }
      }
      left += advance * letterPx;
    }
  });
  return bitmap;
}

/** Draw a line with round ends, its edge smoothed over one pixel. */
function drawLine({ width, height, pixels }: Bitmap, from: Point, to: Point, pen: number): void {
  const radius = pen / 2 + 1;
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const squared = dx * dx + dy * dy;
  const yMax = Math.min(height - 1, Math.ceil(Math.max(from[1], to[1]) + radius));
  const xMax = Math.min(width - 1, Math.ceil(Math.max(from[0], to[0]) + radius));
  for (let y = Math.max(0, Math.floor(Math.min(from[1], to[1]) - radius)); y <= yMax; y++) {
    for (let x = Math.max(0, Math.floor(Math.min(from[0], to[0]) - radius)); x <= xMax; x++) {
      const along = squared === 0 ? 0 : ((x - from[0]) * dx + (y - from[1]) * dy) / squared;
      const nearest = Math.min(1, Math.max(0, along));
      const distance = Math.hypot(x - from[0] - nearest * dx, y - from[1] - nearest * dy);
      const ink = Math.min(1, Math.max(0, pen / 2 + 0.5 - distance));
      const at = y * width + x;
      pixels[at] = Math.min(pixels[at] as number, Math.round(255 * (1 - ink)));
    }
  }
}
