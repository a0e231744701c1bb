import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { awaitLater } from '../../platform/await-later.ts';
import { AppError, conflict, notFound } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { inTransaction } from '../../platform/postgres.ts';
import { repeatingTask } from '../../platform/repeating-task.ts';
import type { LocalModels } from '../open-local-models.ts';
import { POOLINGS } from '../runtime/protocol.ts';
import { LocalName, VARIANTS } from '../schema.ts';
import { type InstallOptions, taskPrefixes } from './inspect-model.ts';
import {
  type InstallContext,
  type InstallPlan,
  type InstallProgress,
  installModel,
  planInstallation,
} from './install-model.ts';
import * as store from './installation-store.ts';
import { chooseName, openAllowedSource } from './open-source.ts';
import type { ModelSource } from './source.ts';

/** Interval at which an installation writes its progress and checks for cancellation. */
const PROGRESS_MS = 1_000;
const MESSAGE_CHARACTERS_MAX = 1_000;

const STOPPED = {
  code: 'installation_interrupted',
  message: 'the server stopped in the middle of it; install the model again, which continues a download',
};

/** Request to install a model, or to plan it. */
export const NewInstallation = z.object({
  source: z
    .string()
    .min(1)
    .max(200)
    .describe('id at the hub (organization/name), or the name of a folder in local_models.folder'),
  name: LocalName.optional().describe('name of the model: local/NAME (default: derived from the source)'),
  revision: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/, 'is not the name of a revision')
    .optional()
    .describe('branch, tag or commit at the hub (default: main)'),
  kind: z.enum(['embedding', 'reranker']).default('embedding'),
  variant: z.enum(VARIANTS).default('fp32').describe('precision of the weights'),
  pooling: z.enum(POOLINGS).optional().describe('pooling of the token vectors, if the source does not specify it'),
  max_tokens: z.int().min(8).max(1_000_000).optional().describe('maximum number of tokens in a text'),
  prompts: z
    .union([z.enum(['none', 'e5']), z.record(z.string().max(64), z.string().max(4000))])
    .optional()
    .describe('text in front of inputs, if the source does not specify it: none, e5, or prompts by name'),
});
export type NewInstallation = z.output<typeof NewInstallation>;

export interface InstallationPlan extends InstallPlan {
  readonly name: string;
  /** Source with its commit, for display. */
  readonly source: string;
  /** Commit of the hub; null for a folder. */
  readonly revision: string | null;
}

interface InstallationsContext extends InstallContext {
  readonly localModels: Pick<LocalModels, 'refresh'>;
  readonly logger: Logger;
}

/**
 * Installations of local models that operators start through the API. Only one runs at a time, across all processes.
 */
export class Installations {
  readonly #context: InstallationsContext;
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(context: InstallationsContext) {
    this.#context = context;
  }

  async list(): Promise<store.InstallationRow[]> {
    await store.failDeadInstallations(this.#context.sql, STOPPED);
    return store.selectInstallations(this.#context.sql);
  }

  /**
   * Return what an installation would fetch, without changing anything.
   * @throws AppError of the source and of the model
   */
  async plan(request: NewInstallation, signal: AbortSignal): Promise<InstallationPlan> {
    return (await this.#prepare(request, signal)).plan;
  }

  /**
   * Start an installation, which continues after the request.
   *
   * @throws AppError `installation_running` (409), and those of `plan`
   */
  async start(actor: string, request: NewInstallation, signal: AbortSignal): Promise<InstallationPlan> {
    const { plan, source } = await this.#prepare(request, signal);
    const { name, bytes } = plan;
    await store.failDeadInstallations(this.#context.sql, STOPPED);
    const runId = randomUUID();
    const fresh = { name, runId, source: source.label, totalBytes: bytes, startedBy: actor };
    const running = await inTransaction(this.#context.sql, (tx) => store.beginInstallation(tx, fresh));
    if (running !== null) {
      throw conflict(`${running} is being installed; wait for it, or cancel it`, 'installation_running');
    }
    this.#running = awaitLater(this.#run({ runId, name, actor, source, bytes, options: optionsOf(request) }));
    return plan;
  }

  /** Stop an installation, or delete a failed one. @throws AppError `installation_not_found` (404) */
  async cancel(name: string): Promise<void> {
    const isFound = await inTransaction(this.#context.sql, (tx) => store.cancelInstallation(tx, name));
    if (!isFound) throw notFound('installation', name);
  }

  /** Stop this process's installation. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running.catch(() => undefined);
  }

  async #prepare(
    { source: from, name: asked, revision, variant }: NewInstallation,
    signal: AbortSignal,
  ): Promise<{ source: ModelSource; plan: InstallationPlan }> {
    const settings = this.#context.config.localModels;
    const source = await openAllowedSource(from, { settings, revision, signal });
    const name = chooseName(from, asked);
    const plan = await planInstallation(this.#context, { source, variant, signal });
    return { source, plan: { ...plan, name, source: source.label, revision: source.revision } };
  }

  async #run(run: Run): Promise<void> {
    const { sql, logger, localModels } = this.#context;
    const cancelled = new AbortController();
    let progress: InstallProgress = { phase: 'fetching', doneBytes: 0, totalBytes: run.bytes };
    const reports = repeatingTask('progress of an installation', PROGRESS_MS, logger, async () => {
      if (!(await store.recordProgress(sql, run.runId, progress))) cancelled.abort();
    });
    await reports.start(this.#closing.signal);
    try {
      await installModel(this.#context, {
        ...run.options,
        name: run.name,
        source: run.source,
        actor: run.actor,
        confirm: async () => {},
        onProgress: (now) => {
          progress = now;
        },
        signal: AbortSignal.any([cancelled.signal, this.#closing.signal]),
      });
      await localModels.refresh();
      await store.deleteInstallation(sql, run.runId);
    } catch (error) {
      if (cancelled.signal.aborted) await store.deleteInstallation(sql, run.runId);
      else await store.recordFailure(sql, run.runId, this.#faultOf(error));
      logger.warn({ err: error, model: run.name }, 'a local model was not installed');
    } finally {
      await reports.stop();
      await run.source.close();
    }
  }

  #faultOf(error: unknown): { code: string; message: string } {
    if (this.#closing.signal.aborted) return STOPPED;
    const { code, message } =
      error instanceof AppError
        ? error
        : { code: 'internal', message: 'it failed; see the log of the server for the reason' };
    return { code, message: message.slice(0, MESSAGE_CHARACTERS_MAX) };
  }
}

interface Run {
  readonly runId: string;
  readonly name: string;
  readonly actor: string;
  readonly source: ModelSource;
  readonly bytes: number;
  readonly options: InstallOptions;
}

function optionsOf({ kind, variant, pooling, max_tokens: maxTokens, prompts }: NewInstallation): InstallOptions {
  return { kind, variant, pooling, maxTokens, prompts: typeof prompts === 'object' ? taskPrefixes(prompts) : prompts };
}
