import type { ProtocolName } from '../provider.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { cohere } from './cohere.ts';
import { gemini } from './gemini.ts';
import { jina } from './jina.ts';
import { mistral } from './mistral.ts';
import { mixedbread } from './mixedbread.ts';
import { nim } from './nim.ts';
import { nomic } from './nomic.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { tei } from './tei.ts';
import { vertex } from './vertex.ts';
import { voyage } from './voyage.ts';

const ADAPTERS: Readonly<Record<ProtocolName, Protocol>> = {
  openai,
  azure,
  gemini,
  vertex,
  voyage,
  jina,
  cohere,
  bedrock,
  mistral,
  nomic,
  mixedbread,
  nim,
  tei,
  ollama,
};

export function protocolOf(name: ProtocolName): Protocol {
  return ADAPTERS[name];
}
