export interface VendorView {
  readonly name: string;
  readonly protocol: string | null;
  readonly is_set_up: boolean;
  readonly is_added: boolean;
  readonly models: readonly { readonly id: string; readonly price_per_million: number }[];
}

/** Names of the protocols for people. They are names of products, the same in every language. */
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
};

/** Fields of the form besides address, key and model, by the protocol that has them. */
export const PROTOCOL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  azure: ['api_version'],
  bedrock: ['region', 'access_key_id', 'secret_access_key'],
  vertex: ['project', 'location', 'service_account'],
};

/** Protocols whose address follows from the region or the location. */
export const WITH_OWN_ADDRESS: ReadonlySet<string> = new Set(['bedrock', 'vertex']);
