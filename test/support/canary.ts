import { expect } from 'vitest';

/** Credentials that don't look like credentials, so that only code that knows them can redact them. */
export const CANARY = {
  openaiOne: 'heron.otter.kelp',
  openaiTwo: 'plover~quotes"and\\slashes$&',
  jina: 'limpet.samphire',
  gemini: 'cormorant.eelgrass',
  voyage: 'whelk.bladderwrack',
  cohere: 'gannet.thrift',
  tei: 'dunlin.marram',
  ollama: 'turnstone.sandwort',
  azure: 'avocet.glasswort',
  bedrock: 'curlew.seakale',
  awsSecret: 'redshank/sea+holly',
  mistral: 'knot.orache',
  nomic: 'ruff.purslane',
  mixedbread: 'stint.rocket',
  nim: 'godwit.plantain',
  vision: 'guillemot.campion',
  redis: 'oystercatcher.glasswort',
  cron: 'sanderling.seablite',
} as const;

/** One model per vendor in `canarySettings`, and thus per protocol. */
export const CANARY_MODELS = [
  'vendor-a/text-embedding-3-small',
  'vendor-b/embedding-001',
  'vendor-c/model-4',
  'vendor-d/bge-m3-ko',
  'vendor-e/embeddings-v3',
  'vendor-f/embedding-v2-1b',
  'my/cohere',
  'azure/text-embedding-3-small',
  'bedrock/cohere.embed-english-v3',
  'signed/amazon.titan-embed-text-v2:0',
  'mistral/mistral-embed',
  'nomic/nomic-embed-text-v1',
  'mixedbread/mixedbread-ai/mxbai-embed-large-v1',
  'nim/baai/bge-m3',
];

/** Return settings with a credential for every part that accepts one. @param base address of all vendors */
export function canarySettings(base: string): Record<string, unknown> {
  const rules = { retries_max: 0, timeout_seconds: 5 };
  const one = (protocol: string, api_key: string) => ({ protocol, base_url: `${base}/v1`, api_key, ...rules });
  return {
    providers: {
      'vendor-a': {
        protocol: 'openai',
        endpoints: [
          { base_url: `${base}/v1`, api_key: CANARY.openaiOne },
          { name: 'spare', base_url: `${base}/v1`, api_key: CANARY.openaiTwo },
        ],
        ...rules,
        retries_max: 1,
      },
      'vendor-b': one('gemini', CANARY.gemini),
      'vendor-c': one('voyage', CANARY.voyage),
      'vendor-d': one('tei', CANARY.tei),
      'vendor-e': one('jina', CANARY.jina),
      'vendor-f': one('ollama', CANARY.ollama),
      my: one('cohere', CANARY.cohere),
      azure: {
        ...one('azure', CANARY.azure),
        models: { 'azure/text-embedding-3-small': 'small' },
      },
      bedrock: { ...one('bedrock', CANARY.bedrock), region: 'us-east-1' },
      signed: {
        ...{ protocol: 'bedrock', base_url: base, region: 'us-east-1', ...rules },
        ...{ access_key_id: 'AKIDEXAMPLE', secret_access_key: CANARY.awsSecret },
      },
      mistral: one('mistral', CANARY.mistral),
      nomic: one('nomic', CANARY.nomic),
      mixedbread: one('mixedbread', CANARY.mixedbread),
      nim: { ...one('nim', CANARY.nim), models: { 'nim/baai/bge-m3': 'baai/bge-m3' } },
    },
    models: [{ id: 'my/cohere', vendor: 'my', dimensions: 8, max_tokens: 100 }],
    vision: { protocol: 'openai', base_url: `${base}/v1`, api_key: CANARY.vision, model: 'eyes', timeout_seconds: 5 },
    redis_url: `redis://:${CANARY.redis}@127.0.0.1:1`,
    cron_secret: CANARY.cron,
  };
}

/** Credentials in plain text, escaped as in JSON, and escaped as in a URL. */
const FORMS = Object.values(CANARY).flatMap((value) => [value, JSON.stringify(value).slice(1, -1), encodeURI(value)]);

/** Expect that a text contains none of the credentials. @param where source of the text, for the failure message */
export function expectClean(where: string, text: string): void {
  for (const form of FORMS) expect([where, text.includes(form), text]).toEqual([where, false, text]);
}
