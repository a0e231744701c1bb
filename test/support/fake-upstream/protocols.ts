import type { ProtocolName } from '../../../src/embedding/providers/provider.ts';
import { azure, bedrock, vertex } from './cloud-wire.ts';
import { mistral, mixedbread, nim, nomic } from './vendor-wire.ts';
import { cohere, gemini, jina, ollama, openai, tei, voyage, type WireProtocol } from './wire.ts';

/** Every protocol by its documentation, written independently of the adapters so that tests find differences. */
export const WIRE: Readonly<Record<ProtocolName, WireProtocol>> = {
  ...{ openai, azure, gemini, vertex, voyage, jina, cohere, bedrock },
  ...{ mistral, nomic, mixedbread, nim, tei, ollama },
};
