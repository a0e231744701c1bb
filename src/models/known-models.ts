import type { TaskType } from './task-types.ts';

/** Facts about a model of a vendor, from the vendor's documentation. */
interface KnownModel {
  readonly id: string;
  readonly vendor: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly variableDimensions?: boolean;
  readonly prefixes?: Readonly<Partial<Record<TaskType, string>>>;
  readonly tokenizer?: 'cl100k';
}

/** Facts about a model, with the vendor's name instead of an id. */
type Facts = Omit<KnownModel, 'id' | 'vendor'> & { readonly name: string };

/** Prompt of queries; documents and texts to compare with each other have none. */
const MXBAI_PROMPT = 'Represent this sentence for searching relevant passages: ';
const MXBAI_PREFIXES = Object.fromEntries(
  (['retrieval_query', 'question_answering', 'code_retrieval', 'contradiction', 'factcheck'] as const).map((task) => [
    task,
    MXBAI_PROMPT,
  ]),
);

function fact(name: string, dimensions: number, maxTokens: number, more: Partial<Facts> = {}): Facts {
  return { name, dimensions, maxTokens, ...more };
}

const VARIABLE = { variableDimensions: true } as const;

/** Protocols of servers that only have models deployed there by somebody. */
const DEPLOYED: ReadonlySet<string> = new Set(['azure', 'nim']);

/**
 * Models by wire protocol, as of November 2026. A provider of the protocol serves them under the id `PROVIDER/NAME`,
 * without settings.
 */
const KNOWN: Readonly<Record<string, readonly Facts[]>> = {
  // learn.microsoft.com/azure/foundry/openai/how-to/embeddings. The names are common deployment names.
  azure: [
    fact('text-embedding-3-small', 1536, 8191, { ...VARIABLE, tokenizer: 'cl100k' }),
    fact('text-embedding-3-large', 3072, 8191, { ...VARIABLE, tokenizer: 'cl100k' }),
    fact('text-embedding-ada-002', 1536, 8191, { tokenizer: 'cl100k' }),
  ],
  // docs.aws.amazon.com/bedrock/latest/userguide: titan-embedding-models.html, titan-multiemb-models.html,
  // model-parameters-embed-v3.html, model-parameters-embed-v4.html
  bedrock: [
    fact('amazon.titan-embed-text-v2:0', 1024, 8192, VARIABLE),
    fact('amazon.titan-embed-image-v1', 1024, 256, VARIABLE),
    fact('cohere.embed-english-v3', 1024, 512),
    fact('cohere.embed-multilingual-v3', 1024, 512),
    fact('cohere.embed-v4:0', 1536, 128_000, VARIABLE),
  ],
  // docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference: text-embeddings-api, multimodal-embeddings-api
  vertex: [
    fact('gemini-embedding-001', 3072, 2048, VARIABLE),
    fact('gemini-embedding-2', 3072, 8192, VARIABLE),
    fact('text-embedding-005', 768, 2048, VARIABLE),
    fact('text-multilingual-embedding-002', 768, 2048, VARIABLE),
    fact('multimodalembedding', 1408, 32),
  ],
  // docs.mistral.ai/capabilities/embeddings. Codestral Embed sends 1,536 dimensions unless a call asks for others.
  mistral: [fact('mistral-embed', 1024, 8192), fact('codestral-embed', 1536, 8192, VARIABLE)],
  // docs.nomic.ai/atlas/models/text-embedding
  nomic: [fact('nomic-embed-text-v1.5', 768, 8192, VARIABLE), fact('nomic-embed-text-v1', 768, 8192)],
  // mixedbread.com/docs/embeddings/mxbai-embed-large-v1
  mixedbread: [fact('mixedbread-ai/mxbai-embed-large-v1', 1024, 512, { ...VARIABLE, prefixes: MXBAI_PREFIXES })],
  // docs.nvidia.com/nim/nemo-retriever/embedding/latest/support-matrix.html
  nim: [
    fact('nvidia/llama-nemotron-embed-1b-v2', 2048, 8192, VARIABLE),
    fact('nvidia/llama-nemotron-embed-300m-v2', 2048, 8192, VARIABLE),
    fact('nvidia/nv-embedqa-e5-v5', 1024, 512),
    fact('baai/bge-m3', 1024, 8192),
  ],
};

/**
 * Find the maximum text length of a model by its name at any vendor. Models with the same name are the same model.
 * @param models catalog models
 * @returns tokens, or null for an unknown name
 */
export function knownTokensMax(
  models: Iterable<{ readonly id: string; readonly maxTokens: number }>,
  name: string,
): number | null {
  for (const { id, maxTokens } of models) if (id.slice(id.indexOf('/') + 1) === name) return maxTokens;
  return null;
}

/**
 * List the known models of a provider.
 *
 * @param named ids named by the operator; others are omitted if the server may not have them
 */
export function knownModelsOf(vendor: string, protocol: string, named: Pick<ReadonlySet<string>, 'has'>): KnownModel[] {
  const known = (KNOWN[protocol] ?? []).map(({ name, ...facts }) => ({ id: `${vendor}/${name}`, vendor, ...facts }));
  return DEPLOYED.has(protocol) ? known.filter(({ id }) => named.has(id)) : known;
}
