import { z } from 'zod';
import { Secret } from './secret.ts';
import { ServiceAccountKey } from './service-account.ts';

/** Supported wire protocols. The protocol, never the vendor's name, selects the adapter. */
export const PROTOCOLS = [
  'openai',
  'azure',
  'gemini',
  'vertex',
  'voyage',
  'jina',
  'cohere',
  'bedrock',
  'mistral',
  'nomic',
  'mixedbread',
  'nim',
  'tei',
  'ollama',
] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

/** Credential. It goes into headers, so it must be printable ASCII. */
export const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));
export const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"');
export const modelId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$/, 'is not a model id');
export const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials; use api_key');

const region = z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d+$/, 'is not a region of AWS, such as us-east-1');
const project = z.string().regex(/^[a-z0-9][a-z0-9.:-]{0,62}$/, 'is not the id of a Google Cloud project');
const location = z.string().regex(/^[a-z0-9-]{1,40}$/, 'is not a location of Vertex AI, such as us-central1 or global');
export const apiVersion = z.string().regex(/^\d{4}-\d{2}-\d{2}(-preview)?$/, 'must be a date, such as 2024-10-21');

/** Location of a vendor's API, and its credential. `providerFaults` checks which fields a protocol needs. */
export const address = {
  base_url: baseUrl
    .optional()
    .describe(
      'address of the API, without the path of the operation (bedrock and vertex: default: that of the region)',
    ),
  api_key: secret.optional().describe('API key of the vendor, or a reference to a variable of the environment'),
  region: region.optional().describe('bedrock: region of AWS'),
  access_key_id: secret.optional().describe('bedrock: access key, instead of api_key'),
  secret_access_key: secret.optional().describe('bedrock: secret of the access key'),
  session_token: secret.optional().describe('bedrock: token of temporary credentials'),
  credentials: z
    .enum(['keys', 'aws'])
    .optional()
    .describe('bedrock: aws: the role of the machine, instead of api_key and access_key_id'),
  project: project.optional().describe('vertex: id of the Google Cloud project'),
  location: location.optional().describe('vertex: location of the models, such as us-central1 or global'),
  service_account: ServiceAccountKey.optional().describe('vertex: JSON key of a service account'),
};
export type Address = { readonly [Key in keyof typeof address]?: z.output<(typeof address)[Key]> };
