import type { ProtocolName } from '../provider.ts';
import { cohere } from './cohere.ts';
import { gemini } from './gemini.ts';
import { jina } from './jina.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { tei } from './tei.ts';
import { voyage } from './voyage.ts';

const ADAPTERS: Readonly<Record<ProtocolName, Protocol>> = { openai, gemini, voyage, jina, cohere, tei, ollama };

export function protocolOf(name: ProtocolName): Protocol {
  return ADAPTERS[name];
}
