/**
 * `npm run eval -- weights`: nDCG@10 of hybrid search by the weight of the vectors beside a keyword weight of 1, for real
 * models. `EVAL_CONFIG` names a settings file with their providers, and `EVAL_MODELS` the models, separated by commas.
 * Without them only the built-in model is measured.
 */
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { tuneWeights } from '../../src/insight/tune-weights.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestSet, readQueries, readRelevant, SETS_DIR, setsAtHand } from './judged-data.ts';

const MODELS = (process.env['EVAL_MODELS'] ?? 'local/lexical-1').split(',');

export async function evaluateWeights(): Promise<void> {
  if (setsAtHand().length === 0) console.log(`skipped: there are no judged sets in ${SETS_DIR}`);
  else for (const model of MODELS) await evaluateModel(model);
}

async function evaluateModel(model: string): Promise<void> {
  const { dataDir, remove } = makeDataDir();
  const env = { SERVICE_CONFIG: process.env['EVAL_CONFIG'] };
  const config = loadConfig({ env, overrides: { data_dir: dataDir, projections: { auto: 'off' } } });
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  const worker = appliance.jobs.worker('ingest');
  try {
    await worker.start(new AbortController().signal);
    const operator = await appliance.access.operator('default');
    await appliance.embedding.routing.set(operator, { primary: model, mode: 'single' });
    for (const set of setsAtHand()) {
      const { fileIds } = await ingestSet(appliance, operator, set);
      const documentIds = new Map([...fileIds].map(([id, name]) => [name, id]));
      const relevant = readRelevant(set);
      const judged = readQueries(set).map(({ id, text }) => ({
        query: text,
        relevant: new Map([...(relevant.get(id) ?? [])].map((name) => [documentIds.get(name) ?? name, 1])),
      }));
      const asked = judged.filter((each) => each.relevant.size > 0);
      const tuned = await tuneWeights(appliance.search, operator, set, asked, {
        ...{ apply: false, signal: new AbortController().signal },
      });
      const tried = tuned.tried.map(({ keyword, vector, ndcg }) => `${keyword}:${vector} ${ndcg.toFixed(4)}`);
      console.log(
        `${model} ${set}: ${tuned.queries} queries, present ${tuned.present.keyword}:${tuned.present.vector}`,
      );
      console.log(`  keyword:vector nDCG@10  ${tried.join('  ')}`);
      console.log(`  gain of tuning on queries that it did not see: ${tuned.held_out_gain.toFixed(4)}`);
    }
  } finally {
    await worker.stop();
    await appliance.close();
    remove();
  }
}
