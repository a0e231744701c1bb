/** Servers and vendors that `init` can set up, in display order. */
export const VENDORS = [
  { protocol: 'openai', name: 'vendor-a', label: 'an OpenAI-compatible API (also vLLM, LiteLLM, llama.cpp)' },
  { protocol: 'gemini', name: 'vendor-b', label: 'a Gemini-compatible API' },
  { protocol: 'voyage', name: 'vendor-c', label: 'a Voyage-compatible API' },
  { protocol: 'jina', name: 'vendor-e', label: 'a Jina-compatible API' },
  { protocol: 'cohere', name: 'cohere', label: 'a Cohere-compatible API' },
  { protocol: 'ollama', name: 'ollama', label: 'Ollama', url: 'http://127.0.0.1:11434', isKeyless: true },
  {
    protocol: 'tei',
    name: 'tei',
    label: 'Text Embeddings Inference (TEI)',
    url: 'http://127.0.0.1:8081',
    isKeyless: true,
  },
  { protocol: 'azure', name: 'azure', label: 'Azure OpenAI (the model is the name of the deployment)' },
  { protocol: 'bedrock', name: 'bedrock', label: 'Amazon Bedrock', needs: ['region'], isKeyless: true },
  {
    protocol: 'vertex',
    name: 'vertex',
    label: 'Google Vertex AI (the key is the JSON key of a service account)',
    needs: ['project', 'location'],
    keySetting: 'service_account',
  },
  { protocol: 'mistral', name: 'mistral', label: 'Mistral', url: 'https://api.mistral.ai/v1' },
  { protocol: 'nomic', name: 'nomic', label: 'Nomic', url: 'https://api-atlas.nomic.ai' },
  { protocol: 'mixedbread', name: 'mixedbread', label: 'Mixedbread', url: 'https://api.mixedbread.com/v1' },
  { protocol: 'nim', name: 'nim', label: 'NVIDIA NIM', url: 'https://integrate.api.nvidia.com/v1' },
] as const satisfies readonly KnownVendor[];

/** Vendor settings other than address and key. */
export type VendorParameter = 'region' | 'project' | 'location' | 'api_version';

/** Vendor that `init` can set up. */
export interface KnownVendor {
  readonly protocol: string;
  /** Usual name of the provider. */
  readonly name: string;
  readonly label: string;
  readonly url?: string;
  /** Required settings from which the address is derived. */
  readonly needs?: readonly VendorParameter[];
  /** True if no key in an environment variable is needed. */
  readonly isKeyless?: boolean;
  /** Setting that holds the key, if that is not `api_key`. */
  readonly keySetting?: string;
}

/** Protocols in the same order. */
export const PROTOCOLS = VENDORS.map(({ protocol }) => protocol);
