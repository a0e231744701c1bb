import { createHash } from 'node:crypto';
import type { Provider, ProviderCall, ProviderReply } from '../../src/embedding/providers/provider.ts';
import type { Model } from '../../src/models/catalog.ts';
import { Catalog } from '../../src/models/catalog.ts';
import type { TaskType } from '../../src/models/task-types.ts';
import { AppError } from '../../src/platform/errors.ts';

/** Create a small model of the operator. */
export function testModel(id: string): Model {
  return new Catalog([{ id, vendor: 'scripted', dimensions: 4, maxTokens: 100 }]).find(id);
}

/** Compute the expected vector of a text: a unit vector of everything that it depends on. */
export function vectorOf(model: Model, taskType: TaskType | null, text: string): number[] {
  const digest = createHash('sha256')
    .update(JSON.stringify([model.id, taskType, text]))
    .digest();
  const row = Array.from({ length: model.nativeDimension }, (_, index) => digest.readInt16LE(index * 2) || 1);
  const norm = Math.hypot(...row);
  return row.map((component) => Math.fround(component / norm));
}

export const tokensOf = (text: string) => text.length + 1;

const rejected = () =>
  new AppError({ code: 'upstream_rejected', status: 400, message: 'the vendor refuses one of the texts' });
export const unavailable = () =>
  new AppError({ code: 'provider_unavailable', status: 502, message: 'the vendor cannot be reached' });

export interface ScriptedCall {
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
  readonly isSettled: boolean;
  /** Answer as the vendor would: a text that begins with "bad" makes it refuse the whole call. */
  answer(): void;
  fail(error: unknown): void;
}

/** Create a provider whose calls the test answers. */
export function scriptedProvider(): { provider: Provider; calls: ScriptedCall[] } {
  const calls: ScriptedCall[] = [];
  const provider: Provider = {
    name: 'scripted',
    embed(call) {
      const { promise, resolve, reject } = Promise.withResolvers<ProviderReply>();
      let isSettled = false;
      const end = () => {
        isSettled = true;
      };
      void promise.then(end, end);
      call.signal.addEventListener('abort', () => reject(call.signal.reason));
      calls.push({
        texts: call.texts,
        signal: call.signal,
        get isSettled() {
          return isSettled;
        },
        answer() {
          if (call.texts.some((text) => text.startsWith('bad'))) reject(rejected());
          else resolve(replyTo(call));
        },
        fail: reject,
      });
      return promise;
    },
    async close() {},
  };
  return { provider, calls };
}

function replyTo({ model, texts, taskType, counts }: ProviderCall): ProviderReply {
  return { vectors: Float32Array.from(texts.flatMap((text) => vectorOf(model, taskType, text))), tokens: counts };
}
