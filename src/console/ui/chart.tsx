import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatCompact } from '../lib/format.ts';
import { currentLanguage } from '../lib/i18n.ts';

const HEIGHT_PX = 220;
const BAR_WIDTH_MAX_PX = 36;
const HALF_DAY_SECONDS = 43_200;

export interface DayValue {
  /** `2026-11-22`, in UTC. */
  readonly date: string;
  readonly value: number;
}

/** Colours of the page, which follow the browser's light or dark scheme. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { accent: of('--accent'), soft: of('--accent-soft'), line: of('--line'), text: of('--ink-faint') };
}

function optionsOf(label: string, width: number): uPlot.Options {
  const { accent, line, text } = colours();
  const dayOf = (seconds: number) =>
    new Date(seconds * 1000).toLocaleDateString(currentLanguage(), { month: 'short', day: 'numeric', timeZone: 'UTC' });
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px system-ui' };
  return {
    width,
    height: HEIGHT_PX,
    legend: { live: false, show: false },
    cursor: { y: false, points: { show: false } },
    scales: {
      x: { time: true, range: (_, min, max) => [min - HALF_DAY_SECONDS, max + HALF_DAY_SECONDS] },
      y: { range: (_, _min, max) => [0, Math.max(max * 1.1, 1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, values: (_, splits) => splits.map(dayOf) },
      { ...axis, size: 56, values: (_, splits) => splits.map(formatCompact) },
    ],
    series: [
      {},
      {
        label,
        stroke: accent,
        fill: accent,
        points: { show: false },
        paths: uPlot.paths.bars?.({ size: [0.6, BAR_WIDTH_MAX_PX] }) as uPlot.Series.PathBuilder,
      },
    ],
  };
}

/** Bars of a value by day. The caller shows the same values as a table. */
export function DayChart({ label, days }: { label: string; days: readonly DayValue[] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const data: uPlot.AlignedData = [days.map(({ date }) => Date.parse(date) / 1000), days.map(({ value }) => value)];
    let chart: uPlot | null = null;
    const draw = () => {
      chart?.destroy();
      chart = new uPlot(optionsOf(label, element.clientWidth), data, element);
    };
    draw();
    const resized = new ResizeObserver(([entry]) =>
      chart?.setSize({ width: entry?.contentRect.width ?? 0, height: HEIGHT_PX }),
    );
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      chart?.destroy();
    };
  }, [label, days]);
  return (
    <figure class="chart" aria-label={label}>
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}
