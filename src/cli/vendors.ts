/** Servers and vendors that `init` can set up, in the listed order. */
export const VENDORS = [
  { protocol: 'openai', name: 'vendor-a', label: 'an OpenAI-compatible API (also vLLM, LiteLLM, llama.cpp)' },
  { protocol: 'gemini', name: 'vendor-b', label: 'a Gemini-compatible API' },
  { protocol: 'voyage', name: 'vendor-c', label: 'a Voyage-compatible API' },
  { protocol: 'jina', name: 'vendor-e', label: 'a Jina-compatible API' },
  { protocol: 'cohere', name: 'cohere', label: 'a Cohere-compatible API' },
  { protocol: 'ollama', name: 'ollama', label: 'Ollama', url: 'http://127.0.0.1:11434' },
  { protocol: 'tei', name: 'tei', label: 'Text Embeddings Inference (TEI)', url: 'http://127.0.0.1:8081' },
] as const;

/** Protocols in the same order. */
export const PROTOCOLS = VENDORS.map(({ protocol }) => protocol);
