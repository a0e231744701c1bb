import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const POLL_MS = 25;
const MB = 1e6;

/** Return the peak memory of a process in MB, or 0 if it is gone. Linux only. */
export function peakMb(pid: number | string): number {
  const kib = Number(/^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
  return (kib * 1024) / MB;
}

/** Watch the peak memory of a process's children, in MB, by module name. */
export function watchChildMemory(parent: number): { stop(): ReadonlyMap<string, number> } {
  const peaks = new Map<string, number>();
  const sample = () => {
    for (const pid of childrenOf(parent)) {
      const module = read(`/proc/${pid}/cmdline`)
        .split('\0')
        .find((argument) => argument.endsWith('.ts'));
      if (module === undefined) continue;
      const name = path.basename(module);
      peaks.set(name, Math.max(peaks.get(name) ?? 0, peakMb(pid)));
    }
  };
  const timer = setInterval(sample, POLL_MS);
  return {
    stop() {
      clearInterval(timer);
      return peaks;
    },
  };
}

function childrenOf(parent: number): string[] {
  const threads = readdirSync(`/proc/${parent}/task`);
  return threads.flatMap((thread) => read(`/proc/${parent}/task/${thread}/children`).split(' ')).filter(Boolean);
}

/** Read a file of /proc. @returns '' if the process is gone */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
