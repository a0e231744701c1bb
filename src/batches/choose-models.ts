import { type KeyLimits, requireModelAllowed } from '../access/key-limits.ts';
import { jobErrorCategoryOf } from '../embedding/job-error-category.ts';
import { AppError } from '../platform/errors.ts';
import type { BatchRow } from './batches-store.ts';
import type { BatchContext } from './context.ts';
import type { Plan } from './plan.ts';
import type { GroupChoice } from './progress-store.ts';
import { readTexts } from './read-texts.ts';

const SAMPLE_TEXTS = 100;
const SAMPLE_TEXT_CHARS = 1_000;

/**
 * Choose the model of each group of requests, as for a bulk job. A group gets a fault instead if no model can embed it,
 * or if the limits of the key exclude its model.
 *
 * @throws AppError `provider_unavailable` (502), which may be temporary
 */
export async function chooseModels(
  context: BatchContext,
  batch: BatchRow,
  plan: Plan,
  limits: KeyLimits | undefined,
): Promise<GroupChoice[]> {
  const choices: GroupChoice[] = [];
  const textsOf = plan.groups.map((): number[] => []);
  for (const { group, texts } of plan.chunks) for (const text of texts) textsOf[group]?.push(text);
  for (const [group, { model, dimensions }] of plan.groups.entries()) {
    const texts = textsOf[group] ?? [];
    const step = Math.max(1, texts.length / SAMPLE_TEXTS);
    const chosen = Array.from({ length: Math.min(texts.length, SAMPLE_TEXTS) }, (_, nth) => {
      return plan.texts[texts[Math.floor(nth * step)] as number] as Plan['texts'][number];
    });
    const sample = (await readTexts(context.objects, batch.inputKey, chosen)).map((text) =>
      text.slice(0, SAMPLE_TEXT_CHARS),
    );
    try {
      const choice = await context.embedder.chooseForJob(batch.orgId, {
        model: model ?? undefined,
        dimensions,
        sample,
      });
      requireModelAllowed(limits, choice.asked.id);
      choices.push({ backend: choice.backend.id, dimensions: choice.dimensions, fault: null });
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500 || jobErrorCategoryOf(error)?.retryable) throw error;
      const { code, status, message, param } = error;
      choices.push({ fault: { code, status, message, param } });
    }
  }
  return choices;
}
