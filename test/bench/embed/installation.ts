import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openAppliance } from '../../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { type FitRequest, fitProjection, planFit } from '../../../src/projection/fit-projection.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { FakeUpstream } from '../../support/fake-upstream.ts';
import { type Child, startChild } from './child.ts';
import { uniqueTexts } from './texts.ts';

/** Models with 1,536 native dimensions. The first has a map into the canonical space, the second doesn't. */
export const CALIBRATED = 'vendor-a/text-embedding-3-small';
export const UNCALIBRATED = 'bench/not-calibrated';
export const BUILT_IN = 'local/lexical-1';

/**
 * Number of texts, more than dimensions. With fewer, most of a vector would be noise around zero, unlike with a real
 * map.
 */
const CALIBRATION_TEXTS = 2_000;
const NATIVE_DIMENSIONS = 1536;
const UPSTREAM_KEY = 'bench-key';

export interface Service {
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Upstream {
  /** Base URL of the openai protocol. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Start the fake upstream, which responds without delay, in a separate process. */
export async function startUpstream(port: string): Promise<Upstream> {
  const script = fileURLToPath(new URL('../../support/fake-upstream/main.ts', import.meta.url));
  const child = await startChild(process.execPath, [script, '--port', port]);
  return { url: String(child.ready['url']), stop: () => child.stop() };
}

/** Start a proxy that only forwards bytes to the upstream, in a separate process. */
export async function startBareProxy(upstreamUrl: string): Promise<Upstream & { readonly pid: number }> {
  const script = fileURLToPath(new URL('./bare-proxy.ts', import.meta.url));
  const child = await startChild(process.execPath, [script, upstreamUrl]);
  return { url: String(child.ready['url']), pid: child.pid, stop: () => child.stop() };
}

/** Start `service serve` on a new data directory with two models of the upstream, in a separate process. */
export async function startService(upstreamUrl: string, nodeOptions: string): Promise<Service> {
  const { dataDir, remove } = makeDataDir();
  try {
    await calibrate(dataDir);
    writeFileSync(path.join(dataDir, 'service.yaml'), serviceYaml(upstreamUrl));
    const service = fileURLToPath(new URL('../../../bin/service', import.meta.url));
    const serve = ['serve', '--port', '0', '--json', '--no-workers', '--data-dir', dataDir];
    const child: Child = await startChild(service, serve, { NODE_OPTIONS: nodeOptions });
    return {
      url: String(child.ready['url']),
      key: readFileSync(String(child.ready['key_file']), 'utf8').trim(),
      pid: child.pid,
      async stop() {
        await child.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Return the settings, with defaults for everything else, such as the memory cache and 16 concurrent calls. */
export function serviceYaml(upstreamUrl: string): string {
  return `
log_level: warn
projections: {auto: off}
providers:
  vendor-a: {protocol: openai, base_url: "${upstreamUrl}", api_key: ${UPSTREAM_KEY}}
models:
  - {id: ${UNCALIBRATED}, vendor: vendor-a, dimensions: ${NATIVE_DIMENSIONS}, max_tokens: 8191, variable_dimensions: true, tokenizer: cl100k}
`;
}

/** Fit a map like `service projections fit --reference`, with an upstream that has a distinct vector for every text. */
export async function calibrate(dataDir: string): Promise<void> {
  const upstream = await FakeUpstream.start({ dimensions: NATIVE_DIMENSIONS, apiKeys: [UPSTREAM_KEY] });
  writeFileSync(path.join(dataDir, 'service.yaml'), serviceYaml(upstream.baseUrl('openai')));
  const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
    logger: openLogger('error'),
  });
  try {
    const request: FitRequest = {
      model: CALIBRATED,
      reference: true,
      corpus: uniqueTexts(CALIBRATION_TEXTS).map((text) => ({ text, kind: 'passage' })),
      pairsMax: CALIBRATION_TEXTS,
      method: 'procrustes',
      allowFewPairs: true,
      activate: true,
      actor: appliance.access.operatorActor,
    };
    const { calibration } = appliance;
    const plan = await planFit(calibration, request, () => []);
    const { active } = await fitProjection(calibration, request, plan, { signal: new AbortController().signal });
    if (!active) throw new Error('the map was fitted but is not active');
  } finally {
    await appliance.close();
    await upstream.close();
  }
}
