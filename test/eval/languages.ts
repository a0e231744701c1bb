/**
 * `npm run eval -- languages`: retrieval in small sets of languages that have no larger set here: 20 passages and 10
 * queries each, written for this project. They show mistakes, not the quality of one choice beside another.
 */
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestSet, JUDGED_SETS, MODES, scoreSet } from '../support/judged-sets/score-set.ts';

export async function evaluateLanguages(): Promise<void> {
  const { dataDir, remove } = makeDataDir();
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  const worker = appliance.jobs.worker('ingest');
  try {
    await worker.start(new AbortController().signal);
    const operator = await appliance.access.operator('default');
    console.log('language  mode     queries  nDCG@10  first result is an answer');
    for (const set of JUDGED_SETS) {
      const idOf = await ingestSet(appliance, operator, set);
      for (const mode of MODES) {
        const { queries, ndcg, wrongFirst } = await scoreSet(appliance, operator, set, { mode, idOf });
        console.log(
          `${set.language.padEnd(9)} ${mode.padEnd(8)} ${String(queries).padStart(7)} ${ndcg.toFixed(4).padStart(8)}  ${queries - wrongFirst.length}`,
        );
        for (const { query, found } of wrongFirst) console.log(`          "${query}" found: ${found}`);
      }
    }
  } finally {
    await worker.stop();
    await appliance.close();
    remove();
  }
}
