import type { ProtocolName } from '../../../platform/vendor-fields.ts';

export interface VendorView {
  readonly name: string;
  readonly protocol: string | null;
  readonly is_set_up: boolean;
  readonly is_added: boolean;
  readonly models: readonly { readonly id: string; readonly price_per_million: number }[];
}

/** Display names of the protocols: product names, which are the same in every language. */
export const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  openai: 'OpenAI',
  azure: 'Azure OpenAI',
  gemini: 'Gemini',
  vertex: 'Google Vertex AI',
  voyage: 'Voyage',
  jina: 'Jina',
  cohere: 'Cohere',
  bedrock: 'Amazon Bedrock',
  mistral: 'Mistral',
  nomic: 'Nomic',
  mixedbread: 'Mixedbread',
  nim: 'NVIDIA NIM',
  ollama: 'Ollama',
  tei: 'Text Embeddings Inference',
} satisfies Record<ProtocolName, string>;

/** Form fields other than address, key and model, by protocol. */
export const PROTOCOL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  azure: ['api_version'],
  bedrock: ['region', 'access_key_id', 'secret_access_key'],
  vertex: ['project', 'location', 'service_account'],
};

/** Protocols whose address is derived from the region or location. */
export const WITH_OWN_ADDRESS: ReadonlySet<string> = new Set(['bedrock', 'vertex']);
