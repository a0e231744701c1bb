import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../../src/platform/config.ts';
import { makeDataDir } from '../../support/appliance.ts';

/** Environment variable that names the folder of kept data directories. */
const KEPT_IN = 'SCALE_KEPT_IN';
const FILLED_FILE = 'scale.json';

/** Steps of each part. Only the chunks part has more than the first two. */
export const STEPS = ['fill', 'search', 'settle', 'rebuild'] as const;
export type Step = (typeof STEPS)[number];

export function isStep(text: string): text is Step {
  return (STEPS as readonly string[]).includes(text);
}

/** Filled data directory, with the result of filling it. */
export interface Installation<F> {
  readonly dataDir: string;
  readonly config: ReturnType<typeof loadConfig>;
  readonly filled: F;
  /** Remove the directory unless it is kept. */
  remove(): void;
}

export interface Filling {
  readonly dataDir: string;
  readonly config: ReturnType<typeof loadConfig>;
  /** Print a line, now and in each later run that reuses the directory. */
  report(line: string): void;
}

export function report(line: string): void {
  console.log(`scale    ${line}`);
}

/**
 * Open a data directory that an earlier run has filled and kept, or fill a new one.
 * @param name part and size
 * @param fill returns data for later runs, which is kept as JSON
 */
export async function openInstallation<F>(
  name: string,
  fill: (filling: Filling) => Promise<F>,
): Promise<Installation<F>> {
  const { dataDir, remove } = placeOf(name);
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, ballast_bytes: 0 } });
  const file = path.join(dataDir, FILLED_FILE);
  if (existsSync(file)) {
    const { filled, lines } = JSON.parse(readFileSync(file, 'utf8')) as { filled: F; lines: string[] };
    for (const line of lines) report(`${line} (when it was filled)`);
    return { dataDir, config, filled, remove };
  }
  const lines: string[] = [];
  try {
    const filled = await fill({
      ...{ dataDir, config },
      report(line) {
        lines.push(line);
        report(line);
      },
    });
    writeFileSync(file, JSON.stringify({ filled, lines }));
    return { dataDir, config, filled, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function placeOf(name: string): { dataDir: string; remove(): void } {
  const keptIn = process.env[KEPT_IN];
  if (keptIn === undefined) return makeDataDir();
  const dataDir = path.resolve(keptIn, name);
  // Let other users traverse it, as embedded PostgreSQL needs under root.
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  return { dataDir, remove: () => undefined };
}
