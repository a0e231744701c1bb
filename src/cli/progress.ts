import { formatDuration, formatPerSecond } from '../tui/figures.ts';
import { hasColours, hasScreen, isQuietNow, note } from './output.ts';

/** Progress of long work on stderr: a bar on a terminal, otherwise one line per step. */
export interface Progress {
  /** Start a phase. @param label name of the phase, such as "uploading" */
  begin(label: string, total: number): void;
  /** Count one finished item. `line` describes it, `last` is its name. */
  step(options: { last: string; line: string; failed: boolean }): void;
  /** Set the number of finished items, for work with too many small steps to print individually. */
  update(done: number): void;
  close(): void;
}

/** Without a terminal: maximum number of lines that `update` prints per phase, and time between lines. */
const LINES_MAX = 20;
const LINE_MS = 500;

export async function openProgress(): Promise<Progress> {
  if (!hasScreen(process.stderr) || isQuietNow()) return openLineProgress();
  const { openProgressView } = await import('../tui/progress.ts');
  const view = openProgressView(process.stderr);
  const pace = new Pace();
  let state = { label: '', done: 0, total: 0, failed: 0, last: '', isColoured: hasColours(process.stderr) };
  return {
    begin(label, total) {
      state = { ...state, label, total, done: 0 };
      pace.begin();
      view.update(state);
    },
    step({ last, failed }) {
      state = { ...state, last, done: state.done + 1, failed: state.failed + (failed ? 1 : 0) };
      view.update(state);
    },
    update(done) {
      state = { ...state, done, last: pace.describe(done, state.total) };
      view.update(state);
    },
    close: () => view.close(),
  };
}

function openLineProgress(): Progress {
  let done = 0;
  let total = 0;
  let label = '';
  let nextLineMs = 0;
  const pace = new Pace();
  return {
    begin(phase, count) {
      pace.begin();
      nextLineMs = performance.now() + LINE_MS;
      done = 0;
      total = count;
      label = phase;
      note(`${label} ${count}`);
    },
    step({ line }) {
      done++;
      note(`[${done}/${total}] ${line}`);
    },
    update(now) {
      const lineOf = (count: number) => Math.floor((count / Math.max(1, total)) * LINES_MAX);
      const paceNow = pace.describe(now, total);
      const isDue = now >= total || performance.now() >= nextLineMs;
      if (!isDue || lineOf(now) <= lineOf(done)) return;
      note(`[${now}/${total}] ${label}${paceNow && `, ${paceNow}`}`);
      nextLineMs = performance.now() + LINE_MS;
      done = now;
    },
    close() {},
  };
}

/** Speed of a phase, measured from its first reading, since an earlier attempt may have done the items before it. */
class Pace {
  #first: { readonly done: number; readonly atMs: number } | null = null;

  begin(): void {
    this.#first = null;
  }

  /** Describe the speed and the time left: `6.2/s, 1m50s left`. Empty until an item is finished. */
  describe(done: number, total: number): string {
    const nowMs = performance.now();
    this.#first ??= { done, atMs: nowMs };
    const perSecond = ((done - this.#first.done) * 1000) / (nowMs - this.#first.atMs);
    if (!(perSecond > 0)) return '';
    return `${formatPerSecond(perSecond)}, ${formatDuration((total - done) / perSecond)} left`;
  }
}
