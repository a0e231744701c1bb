import { findOtherServers } from '../appliance/running-servers.ts';
import type { LocalModel } from '../local-models/schema.ts';
import { AppError } from '../platform/errors.ts';
import { readMetrics } from './read-metrics.ts';

interface LocalModelRow {
  readonly name: string;
  readonly kind: string;
  readonly variant: string;
  readonly source: string;
  readonly disk: string;
  /** Memory used in servers running on the data directory, or `not loaded`. */
  readonly memory: string;
}

const MIB = 1024 * 1024;

/** Describe the installed models, with their memory use in servers of this data directory. */
export async function describeLocalModels(
  models: readonly LocalModel[],
  dataDir: string,
  signal: AbortSignal,
): Promise<LocalModelRow[]> {
  const memory = await readMemory(dataDir, signal);
  return models.map(({ spec: { name, kind, variant, source, files } }) => {
    const disk = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const bytes = memory.get(name) ?? 0;
    return { name, kind, variant, source, disk: mib(disk), memory: bytes > 0 ? mib(bytes) : 'not loaded' };
  });
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}

async function readMemory(dataDir: string, signal: AbortSignal): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  for (const { url } of await findOtherServers(dataDir)) {
    try {
      for (const { name, labels, value } of await readMetrics(url, signal)) {
        if (name !== 'service_local_model_memory_bytes') continue;
        const model = labels['model'] ?? '';
        bytes.set(model, (bytes.get(model) ?? 0) + value);
      }
    } catch (error) {
      // Skip a server that does not answer now.
      if (!(error instanceof AppError)) throw error;
    }
  }
  return bytes;
}
