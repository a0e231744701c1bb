import type { Appliance } from '../../src/appliance/appliance.ts';
import { type FitSummary, fitProjection, planFit } from '../../src/projection/fit-projection.ts';
import { syntheticTexts } from './synthetic-models.ts';

/** Fit a map of `model` on synthetic texts, and activate it in this process. The first model defines the space. */
export async function calibrate(
  appliance: Appliance,
  model: string,
  options: { reference?: boolean; pairs?: number } = {},
): Promise<FitSummary> {
  const request = {
    ...{ model, reference: options.reference ?? false, corpus: syntheticTexts(options.pairs ?? 600), pairsMax: 5_000 },
    ...{ method: 'procrustes' as const, allowFewPairs: false, activate: true, actor: 'operator:test' },
  };
  const plan = await planFit(appliance.calibration, request, () => []);
  const report = await fitProjection(appliance.calibration, request, plan, { signal: new AbortController().signal });
  await appliance.projections.refresh();
  return report;
}
