import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colourOf } from '../lib/colours.ts';
import { formatCompact, formatShortDay } from '../lib/format.ts';

const HEIGHT_PX = 220;
const BAR_WIDTH_MAX_PX = 36;
const DAY_SECONDS = 86_400;
/** Width of a date below the chart, so that dates never touch in any language. */
const DATE_PX = 76;
/** Possible numbers of days between dates below the chart. */
const DATE_STEPS = [1, 2, 7, 14, 28].map((days) => days * DAY_SECONDS);

/** Steps of the value axis, which are whole numbers. */
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

export interface DayValue {
  /** `2026-11-22`, in UTC. */
  readonly date: string;
  readonly value: number;
  /** Part of the value to draw in another colour. */
  readonly part?: number;
}

function optionsOf(label: string, partLabel: string | undefined, width: number): uPlot.Options {
  const [accent, warn] = [colourOf('--accent'), colourOf('--warn')];
  const [line, text] = [colourOf('--line'), colourOf('--ink-faint')];
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px system-ui' };
  const bars = (name: string, colour: string): uPlot.Series => ({
    label: name,
    stroke: colour,
    fill: colour,
    points: { show: false },
    paths: uPlot.paths.bars?.({ size: [0.6, BAR_WIDTH_MAX_PX] }) as uPlot.Series.PathBuilder,
  });
  return {
    width,
    height: HEIGHT_PX,
    legend: { live: false, show: false },
    cursor: { y: false, points: { show: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: {
      x: { time: true, range: (_, min, max) => [min - DAY_SECONDS / 2, max + DAY_SECONDS / 2] },
      y: { range: (_, _min, max) => [0, Math.max((max ?? 0) * 1.1, 1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: DATE_PX,
        incrs: DATE_STEPS,
        values: (_, splits) => splits.map(formatShortDay),
      },
      { ...axis, size: 56, incrs: WHOLE_STEPS, values: (_, splits) => splits.map(formatCompact) },
    ],
    series: [{}, bars(label, accent), ...(partLabel === undefined ? [] : [bars(partLabel, warn)])],
  };
}

interface DayChartProps {
  readonly label: string;
  /** Name of the parts of the values; without it, parts aren't drawn. */
  readonly partLabel?: string;
  readonly days: readonly DayValue[];
}

/** Bars of a value by day. The caller shows the same values as a table. */
export function DayChart({ label, partLabel, days }: DayChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const data: uPlot.AlignedData = [
      days.map(({ date }) => Date.parse(date) / 1000),
      days.map(({ value }) => value || null),
      ...(partLabel === undefined ? [] : [days.map(({ part }) => part || null)]),
    ];
    let chart: uPlot | null = null;
    const draw = () => {
      chart?.destroy();
      chart = new uPlot(optionsOf(label, partLabel, element.clientWidth), data, element);
    };
    draw();
    const resized = new ResizeObserver(([entry]) =>
      chart?.setSize({ width: entry?.contentRect.width ?? 0, height: HEIGHT_PX }),
    );
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resized.disconnect();
      theme.disconnect();
      scheme.removeEventListener('change', draw);
      chart?.destroy();
    };
  }, [label, partLabel, days]);
  return (
    <figure class="chart" aria-label={label}>
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}
