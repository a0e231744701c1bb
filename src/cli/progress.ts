import { hasColours, note } from './output.ts';

/** Shows how far long work has come, on stderr: a bar on a terminal, else a line a step. */
export interface Progress {
  /** @param label what begins: "uploading" */
  begin(label: string, total: number): void;
  /** One more is done. `line` says it in words, `last` names it. */
  step(options: { last: string; line: string; failed: boolean }): void;
  /** `done` of them are done now: for work in many small steps, of which only some are worth a line. */
  update(done: number): void;
  close(): void;
}

/** Lines that a run without a terminal prints of `update`. */
const LINES_MAX = 20;

export async function openProgress(): Promise<Progress> {
  if (!process.stderr.isTTY) return lines();
  const { openProgressView } = await import('../tui/progress.ts');
  const view = openProgressView(process.stderr);
  let state = { label: '', done: 0, total: 0, failed: 0, last: '', isColoured: hasColours(process.stderr) };
  return {
    begin(label, total) {
      state = { ...state, label, total, done: 0 };
      view.update(state);
    },
    step({ last, failed }) {
      state = { ...state, last, done: state.done + 1, failed: state.failed + (failed ? 1 : 0) };
      view.update(state);
    },
    update(done) {
      state = { ...state, done };
      view.update(state);
    },
    close: () => view.close(),
  };
}

function lines(): Progress {
  let done = 0;
  let total = 0;
  let label = '';
  return {
    begin(what, count) {
      done = 0;
      total = count;
      label = what;
      note(`${label} ${count}`);
    },
    step({ line }) {
      done++;
      note(`[${done}/${total}] ${line}`);
    },
    update(now) {
      const lineOf = (count: number) => Math.floor((count / Math.max(1, total)) * LINES_MAX);
      if (lineOf(now) > lineOf(done)) note(`[${now}/${total}] ${label}`);
      done = now;
    },
    close() {},
  };
}
