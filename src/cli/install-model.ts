import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Appliance } from '../appliance/appliance.ts';
import { type InstallOptions, taskPrefixes } from '../local-models/install/inspect-model.ts';
import {
  type Installed,
  type InstallPlan,
  type InstallProgress,
  type InstallRequest,
  installModel,
} from '../local-models/install/install-model.ts';
import { openSource } from '../local-models/install/open-source.ts';
import type { Pooling } from '../local-models/runtime/protocol.ts';
import type { Variant } from '../local-models/schema.ts';
import { invalidRequest } from '../platform/errors.ts';
import { canAsk, confirm } from './confirm.ts';
import { note } from './output.ts';
import { openProgress, type Progress } from './progress.ts';

const MIB = 1024 * 1024;

/** Parse the flags of `models install`. @throws AppError `invalid_request` (400) */
export function installRequest(flags: {
  readonly reranker?: boolean;
  readonly variant: string;
  readonly pooling?: string | undefined;
  readonly 'max-tokens'?: number | undefined;
  readonly prompts?: string | undefined;
}): InstallOptions {
  return {
    kind: flags.reranker ? 'reranker' : 'embedding',
    variant: flags.variant as Variant,
    pooling: flags.pooling as Pooling | undefined,
    maxTokens: flags['max-tokens'],
    prompts: flags.prompts === undefined ? undefined : promptsOf(flags.prompts),
  };
}

function promptsOf(value: string): NonNullable<InstallOptions['prompts']> {
  if (value === 'none' || value === 'e5') return value;
  try {
    const prompts = z.record(z.string(), z.string().max(4000)).parse(JSON.parse(readFileSync(value, 'utf8')));
    return taskPrefixes(prompts);
  } catch {
    throw invalidRequest(
      `--prompts: must be none, e5, or a JSON file such as {"query": "query: ", "document": "passage: "}; ${value} is none of these`,
      'prompts',
    );
  }
}

/** Install a model with a progress bar. At a terminal, show the size and ask first. */
export async function runInstall(
  appliance: Appliance,
  from: { source: string; revision: string | undefined; yes: boolean; actor: string; signal: AbortSignal },
  options: InstallOptions & { readonly name: string },
): Promise<Installed> {
  const { config } = appliance;
  const { signal } = from;
  const source = await openSource(from.source, {
    settings: config.localModels,
    revision: from.revision,
    dataDir: config.dataDir,
    signal,
  });
  const progress = await openProgress();
  try {
    const installed = await installModel(appliance, {
      ...options,
      source,
      actor: from.actor,
      confirm: (plan) => tellPlan(plan, options.name, from),
      onProgress: showProgress(progress),
      signal,
    });
    await appliance.localModels.refresh();
    return installed;
  } finally {
    progress.close();
    await source.close();
  }
}

async function tellPlan(plan: InstallPlan, name: string, from: { yes: boolean; signal: AbortSignal }): Promise<void> {
  const [needed, free] = [plan.bytes, plan.freeBytes].map((bytes) => `${Math.ceil(bytes / MIB)} MiB`);
  const licence = plan.licence === null ? 'the source states no licence' : `licence ${plan.licence}`;
  note(`${name}: ${plan.files} files, ${needed}; ${free} are free; ${licence}`);
  // Installing changes no existing data, so ask only at a terminal.
  if (canAsk()) await confirm('Go on?', from.yes, from.signal);
}

function showProgress(progress: Progress): InstallRequest['onProgress'] {
  let phase: InstallProgress['phase'] | null = null;
  const labels = { fetching: 'fetching MiB', testing: 'running one text', sharing: 'storing MiB' } as const;
  return (now) => {
    if (now.phase !== phase) progress.begin(labels[now.phase], Math.ceil(now.totalBytes / MIB));
    phase = now.phase;
    progress.update(Math.min(Math.ceil(now.totalBytes / MIB), Math.floor(now.doneBytes / MIB)));
  };
}
