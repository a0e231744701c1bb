import { Dispatcher, type DispatcherOptions } from '../../../src/embedding/providers/dispatcher.ts';
import type { ProviderCall, ProviderReply } from '../../../src/embedding/providers/provider.ts';

/** Upstream call that waits for an answer. */
export interface SentCall {
  readonly batch: ProviderCall;
  answer(): void;
  fail(error: unknown): void;
}

export const REJECTED = new Error('rejected');
export const OVERLOADED = new Error('overloaded');

function numberOf(text: string): number {
  return Number(text.replace(/\D/g, ''));
}

/** Reply with two numbers per text, and its length as tokens. */
export function replyTo(texts: readonly string[]): ProviderReply {
  const vectors = new Float32Array(texts.length * 2);
  for (const [row, text] of texts.entries()) vectors.set([numberOf(text), -numberOf(text)], row * 2);
  return { vectors, tokens: texts.map((text) => text.length) };
}

/** Create a dispatcher whose upstream calls are answered by the test. */
export function start(options: Partial<DispatcherOptions> & { itemsMax?: number; tokensMax?: number } = {}) {
  const sent: SentCall[] = [];
  const dispatcher = new Dispatcher({
    concurrencyMax: 1,
    queuedTextsMax: 10_000,
    capsOf: () => ({ itemsMax: options.itemsMax ?? 10, tokensMax: options.tokensMax ?? null }),
    send: (batch) =>
      new Promise((resolve, reject) => {
        sent.push({ batch, answer: () => resolve(replyTo(batch.texts)), fail: reject });
      }),
    isRejection: (error) => error === REJECTED,
    overloaded: () => OVERLOADED,
    ...options,
  });
  return { dispatcher, sent };
}

/** Wait until all promises are settled that need no external event. */
export function settlePromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function texts(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `t${from + index}`);
}
