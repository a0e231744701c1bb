/** Servers and vendors that `init` can set up, in the listed order. */
export const VENDORS = [
  { protocol: 'openai', name: 'vendor-a', label: 'an API in the form of OpenAI (also vLLM, LiteLLM, llama.cpp)' },
  { protocol: 'gemini', name: 'vendor-b', label: 'an API in the form of Gemini' },
  { protocol: 'voyage', name: 'vendor-c', label: 'an API in the form of Voyage' },
  { protocol: 'jina', name: 'vendor-e', label: 'an API in the form of Jina' },
  { protocol: 'cohere', name: 'cohere', label: 'an API in the form of Cohere' },
  { protocol: 'ollama', name: 'ollama', label: 'Ollama', url: 'http://127.0.0.1:11434' },
  { protocol: 'tei', name: 'tei', label: 'Text Embeddings Inference (TEI)', url: 'http://127.0.0.1:8081' },
] as const;

/** Protocols in the same order. */
export const PROTOCOLS = VENDORS.map(({ protocol }) => protocol);
