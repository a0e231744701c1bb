import { type DimensionScores, type Evaluation, HISTOGRAM_BINS } from './evaluate-map.ts';

const WIDTH = 640;
const HEIGHT = 280;
const LEFT = 48;
const RIGHT = 16;
const TOP = 16;
const BOTTOM = 40;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;

/** Line in the first chart. `className` selects its colour in the page's style sheet. */
interface Series {
  readonly className: string;
  readonly label: string;
  readonly valueOf: (scores: DimensionScores) => number;
}

export const SERIES: readonly Series[] = [
  { className: 'forward', label: 'recall@1, model searches reference', valueOf: (at) => at.recallAt1.forward },
  { className: 'backward', label: 'recall@1, reference searches model', valueOf: (at) => at.recallAt1.backward },
  { className: 'retention', label: 'own neighbours kept', valueOf: (at) => at.retention },
  { className: 'unrotated', label: 'own neighbours kept, unrotated prefix', valueOf: (at) => at.unrotatedRetention },
];

/** Draw recall and kept neighbours against the output dimension, as inline SVG. */
export function drawRecall(scores: readonly DimensionScores[]): string {
  const values = scores.flatMap((at) => SERIES.map((series) => series.valueOf(at)));
  const floor = Math.min(Math.floor(Math.min(...values, 0.9) * 10) / 10, 0.9);
  const first = Math.log2(scores[0]?.dimensions ?? 1);
  const span = Math.max(Math.log2(scores.at(-1)?.dimensions ?? 2) - first, 1e-9);
  const x = (at: DimensionScores) => LEFT + (PLOT_WIDTH * (Math.log2(at.dimensions) - first)) / span;
  const y = (value: number) => TOP + PLOT_HEIGHT * (1 - (value - floor) / (1 - floor));
  const steps = Math.round((1 - floor) * 10);
  const grid = Array.from({ length: steps + 1 }, (_, i) => floor + i / 10).map((value) =>
    gridLine(y(value), value.toFixed(1)),
  );
  const ticks = scores.map((at) => axisText(x(at), String(at.dimensions)));
  const lines = SERIES.map((series) => {
    const points = scores.map((at) => `${round(x(at))},${round(y(series.valueOf(at)))}`);
    const dots = scores.map((at) => {
      const note = `${series.label}, ${at.dimensions} dimensions: ${series.valueOf(at).toFixed(3)}`;
      return `<circle class="${series.className}" cx="${round(x(at))}" cy="${round(y(series.valueOf(at)))}" r="3"><title>${note}</title></circle>`;
    });
    return `<polyline class="${series.className}" points="${points.join(' ')}"/>${dots.join('')}`;
  });
  return picture('Recall against dimension', [...grid, ...ticks, ...lines, axisTitle('output dimensions')]);
}

/** Draw the histogram of cosines between vectors of the same text and of different texts, as inline SVG. */
export function drawCosines({ sameText, otherText }: Evaluation['cosines']): string {
  const isUsed = (bin: number) => (sameText[bin] ?? 0) > 0 || (otherText[bin] ?? 0) > 0;
  const used = Array.from({ length: HISTOGRAM_BINS }, (_, bin) => bin).filter(isUsed);
  const first = used[0] ?? 0;
  const end = (used.at(-1) ?? HISTOGRAM_BINS - 1) + 1;
  const highest = Math.max(...sameText, ...otherText, 1e-9);
  const barWidth = PLOT_WIDTH / (end - first);
  const cosineAt = (bin: number) => (2 * bin) / HISTOGRAM_BINS - 1;
  const bars = (shares: readonly number[], className: string, label: string) =>
    used.map((bin) => {
      const share = shares[bin] ?? 0;
      const height = (PLOT_HEIGHT * share) / highest;
      const note = `${label}: ${(share * 100).toFixed(1)} % from ${cosineAt(bin).toFixed(2)} to ${cosineAt(bin + 1).toFixed(2)}`;
      return `<rect class="${className}" x="${round(LEFT + (bin - first) * barWidth)}" y="${round(TOP + PLOT_HEIGHT - height)}" width="${round(barWidth)}" height="${round(height)}"><title>${note}</title></rect>`;
    });
  const every = Math.max(1, Math.ceil((end - first) / 10));
  const ticks = Array.from({ length: end - first + 1 }, (_, i) => first + i)
    .filter((bin) => (bin - first) % every === 0)
    .map((bin) => axisText(LEFT + (bin - first) * barWidth, cosineAt(bin).toFixed(2)));
  const grid = [0, 0.5, 1].map((part) =>
    gridLine(TOP + PLOT_HEIGHT * (1 - part), `${(part * highest * 100).toFixed(0)} %`),
  );
  return picture('Histogram of cosines', [
    ...grid,
    ...ticks,
    ...bars(otherText, 'other', 'different texts'),
    ...bars(sameText, 'same', 'same text'),
    axisTitle('cosine'),
  ]);
}

function picture(label: string, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">\n${parts.join('\n')}\n</svg>`;
}

function gridLine(y: number, label: string): string {
  const at = round(y);
  return `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/><text x="${LEFT - 6}" y="${at + 4}" text-anchor="end">${label}</text>`;
}

function axisText(x: number, label: string): string {
  return `<text x="${round(x)}" y="${TOP + PLOT_HEIGHT + 16}" text-anchor="middle">${label}</text>`;
}

function axisTitle(label: string): string {
  return `<text x="${LEFT + PLOT_WIDTH / 2}" y="${HEIGHT - 6}" text-anchor="middle">${label}</text>`;
}

const round = (value: number) => Math.round(value * 10) / 10;
