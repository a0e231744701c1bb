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
  gemini: 'Gemini',
  voyage: 'Voyage',
  jina: 'Jina',
  cohere: 'Cohere',
  ollama: 'Ollama',
  tei: 'Text Embeddings Inference',
};
