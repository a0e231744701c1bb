import { t, translateName } from '../../lib/i18n.ts';
import type { BlockShape } from './definition.ts';
import { layOut, type PlacedBlock } from './graph-layout.ts';

const WIDTH = 168;
const HEIGHT = 52;
const GAP_X = 44;
const GAP_Y = 18;
const LABEL_CHARS_MAX = 20;

interface GraphProps {
  readonly blocks: readonly BlockShape[];
  /** Block states in a run, by block id. */
  readonly states?: ReadonlyMap<string, string>;
}

const leftOf = ({ column }: PlacedBlock) => column * (WIDTH + GAP_X);
const topOf = ({ row }: PlacedBlock) => row * (HEIGHT + GAP_Y);

/** Picture of a workflow: its blocks in execution order, and the dependencies of each. */
export function Graph({ blocks, states }: GraphProps) {
  const { blocks: placed, edges, columns, rows } = layOut(blocks);
  const width = columns * (WIDTH + GAP_X) - GAP_X + 4;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y + 4;
  const names = placed.map(({ block }) => labelOf(block, states?.get(block.id)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="graph" tabIndex={0} aria-label={t('Picture of the workflow')}>
      <svg width={width} height={height} viewBox={`-2 -2 ${width} ${height}`} role="img" aria-label={names.join(' → ')}>
        {edges.map(([from, to]) => (
          <path key={`${from.block.id} ${to.block.id}`} class="graph-edge" d={pathOf(from, to)} />
        ))}
        {placed.map((place) => (
          <Node key={place.block.id} place={place} state={states?.get(place.block.id)} />
        ))}
      </svg>
    </section>
  );
}

function labelOf({ id, type }: BlockShape, state: string | undefined): string {
  return [id, translateName(type), state === undefined ? '' : translateName(state)].filter(Boolean).join(' · ');
}

function Node({ place, state }: { place: PlacedBlock; state: string | undefined }) {
  const { id, type } = place.block;
  const below = state === undefined ? translateName(type) : `${translateName(type)} · ${translateName(state)}`;
  return (
    <g transform={`translate(${leftOf(place)} ${topOf(place)})`} class={`graph-node ${state ?? ''}`}>
      <title>{labelOf(place.block, state)}</title>
      <rect width={WIDTH} height={HEIGHT} rx="8" />
      <text x="12" y="21" class="graph-name">
        {shorten(id)}
      </text>
      <text x="12" y="39">
        {shorten(below)}
      </text>
    </g>
  );
}

function shorten(text: string): string {
  return text.length <= LABEL_CHARS_MAX ? text : `${text.slice(0, LABEL_CHARS_MAX - 1)}…`;
}

function pathOf(from: PlacedBlock, to: PlacedBlock): string {
  const [x1, y1] = [leftOf(from) + WIDTH, topOf(from) + HEIGHT / 2];
  const [x2, y2] = [leftOf(to), topOf(to) + HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
