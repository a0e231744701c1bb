import { useEffect, useRef } from 'preact/hooks';
import { t } from '../../lib/i18n.ts';
import type { BucketMap } from '../../types.ts';

export type Point = BucketMap['points'][number];

const RADIUS_PX = 3.5;
const CHOSEN_RADIUS_PX = 7;
const MARGIN_PX = 20;
const REACH_PX = 12;
/** Clearly different hues for documents. They repeat if there are more documents. */
const HUES = [168, 28, 215, 330, 95, 270, 50, 0, 190, 300];

interface ScatterProps {
  readonly points: readonly Point[];
  /** Ids of the documents, each with its own colour. */
  readonly groups: readonly string[];
  readonly chosen: Point | null;
  readonly onChoose: (point: Point | null) => void;
}

/** Points on a canvas. A click selects the nearest one; the table below does the same by keyboard. */
export function Scatter({ points, groups, chosen, onChoose }: ScatterProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const redraw = () => draw(element, { points, groups, chosen });
    redraw();
    const resized = new ResizeObserver(redraw);
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', redraw);
    };
  }, [points, groups, chosen]);
  const choose = (event: MouseEvent) => {
    const element = canvas.current;
    if (!element) return;
    const place = placer(element, points);
    const distances = points.map((point) => {
      const { x, y } = place(point);
      return { point, distance: Math.hypot(x - event.offsetX, y - event.offsetY) };
    });
    const nearest = distances.toSorted((a, b) => a.distance - b.distance)[0];
    onChoose(nearest !== undefined && nearest.distance <= REACH_PX ? nearest.point : null);
  };
  return (
    <canvas
      ref={canvas}
      class="map-canvas"
      role="img"
      aria-label={t('Map of {count|chunk|chunks}; the table below lists them.', { count: points.length })}
      onClick={choose}
    />
  );
}

/** Create a function that maps a point to its position on the canvas, in CSS pixels. */
function placer({ clientWidth, clientHeight }: HTMLCanvasElement, points: readonly Point[]) {
  const range = (values: readonly number[]) => {
    const low = Math.min(...values);
    return { low, length: Math.max(...values) - low || 1 };
  };
  const [xs, ys] = [range(points.map(({ x }) => x)), range(points.map(({ y }) => y))];
  return ({ x, y }: Point) => ({
    x: MARGIN_PX + ((x - xs.low) / xs.length) * (clientWidth - 2 * MARGIN_PX),
    y: MARGIN_PX + ((y - ys.low) / ys.length) * (clientHeight - 2 * MARGIN_PX),
  });
}

function draw(
  canvas: HTMLCanvasElement,
  { points, groups, chosen }: Pick<ScatterProps, 'points' | 'groups' | 'chosen'>,
): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const scale = devicePixelRatio;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = canvas.clientHeight * scale;
  context.scale(scale, scale);
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const place = placer(canvas, points);
  const group = new Map(groups.map((id, at) => [id, at]));
  for (const point of points) {
    const { x, y } = place(point);
    const hue = HUES[(group.get(point.document_id) ?? 0) % HUES.length];
    context.fillStyle = `hsl(${hue} 55% ${isDark ? 65 : 42}% / 75%)`;
    context.beginPath();
    context.arc(x, y, RADIUS_PX, 0, 2 * Math.PI);
    context.fill();
  }
  if (chosen === null) return;
  const { x, y } = place(chosen);
  context.strokeStyle = isDark ? '#fff' : '#1d1c19';
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, CHOSEN_RADIUS_PX, 0, 2 * Math.PI);
  context.stroke();
}
