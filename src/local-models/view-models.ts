import { z } from 'zod';
import type { InstallationRow } from './install/installation-store.ts';
import type { InstallationPlan } from './install/installations.ts';
import type { LocalModel } from './schema.ts';

const licence = z.string().nullable().describe('licence that the source states, such as mit; null if it states none');

const InstalledView = z
  .object({
    name: z.string(),
    kind: z.enum(['embedding', 'reranker']),
    source: z.string().describe('hub id with its commit, or folder'),
    licence,
    variant: z.string(),
    dimension: z.int(),
    max_tokens: z.int(),
    bytes: z.number(),
    installed_at: z.iso.datetime(),
  })
  .meta({ id: 'LocalModel' });

export const InstallationView = z
  .object({
    name: z.string(),
    source: z.string(),
    state: z.enum(['running', 'cancelling', 'failed']),
    phase: z
      .enum(['fetching', 'testing', 'sharing'])
      .describe('sharing: the service stores its files for the other hosts'),
    done_bytes: z.number(),
    total_bytes: z.number(),
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
    started_at: z.iso.datetime(),
  })
  .meta({ id: 'ModelInstallation' });

export const LocalModelList = z
  .object({
    object: z.literal('list'),
    data: z.array(InstalledView),
    installations: z.array(InstallationView).describe('in progress, or failed'),
    hub_url: z.string(),
    folders: z.array(z.string()).describe('folders in local_models.folder that can be installed'),
  })
  .meta({ id: 'LocalModelList' });
export type LocalModelList = z.output<typeof LocalModelList>;

export const PlanView = z
  .object({
    name: z.string(),
    source: z.string(),
    revision: z.string().nullable().describe('commit of the hub; null for a folder'),
    licence,
    files: z.int(),
    bytes: z.number(),
    free_bytes: z.number().describe('free space of the disk'),
  })
  .meta({ id: 'ModelInstallationPlan' });
export type PlanView = z.output<typeof PlanView>;

export function viewInstalled({ spec, installedAt }: LocalModel): z.output<typeof InstalledView> {
  const { name, kind, source, licence: stated, variant, dimension, maxTokens, files } = spec;
  return {
    name,
    kind,
    source,
    licence: stated,
    variant,
    dimension,
    max_tokens: maxTokens,
    bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    installed_at: installedAt.toISOString(),
  };
}

export function viewInstallation(row: InstallationRow): z.output<typeof InstallationView> {
  const { name, source, state, phase, doneBytes, totalBytes, errorCode, errorMessage, startedAt } = row;
  return {
    name,
    source,
    state,
    phase,
    done_bytes: doneBytes,
    total_bytes: totalBytes,
    error_code: errorCode,
    error_message: errorMessage,
    started_at: startedAt.toISOString(),
  };
}

export function viewPlan({ freeBytes, ...plan }: InstallationPlan): PlanView {
  return { ...plan, free_bytes: freeBytes };
}
