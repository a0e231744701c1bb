import { hasColours, note } from './output.ts';

/** Shows how far long work has come, on stderr: a bar on a terminal, else a line a step. */
export interface Progress {
  /** @param label what begins: "uploading" */
  begin(label: string, total: number): void;
  /** One more is done. `line` says it in words, `last` names it. */
  step(options: { last: string; line: string; failed: boolean }): void;
  close(): void;
}

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
    close: () => view.close(),
  };
}

function lines(): Progress {
  let done = 0;
  let total = 0;
  return {
    begin(label, count) {
      done = 0;
      total = count;
      note(`${label} ${count}`);
    },
    step({ line }) {
      done++;
      note(`[${done}/${total}] ${line}`);
    },
    close() {},
  };
}
