import { z } from 'zod';
import { SimpleVendor } from '../../platform/provider-settings.ts';

/** Tokens that a model outside the catalog accepts in a text, unless the request says otherwise. */
const TOKENS_MAX = 512;
/** Names of the catalog that are no vendors: models of this host, and the alias. */
export const OWN_NAMES: ReadonlySet<string> = new Set(['local', 'service']);

export const NewVendor = SimpleVendor.extend({
  name: SimpleVendor.shape.name
    .refine((name) => !OWN_NAMES.has(name), 'is a name of this service')
    .describe('prefix of the ids of its models'),
  model: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,135}$/, 'is not the name of a model')
    .describe('a model at the vendor, which a test call embeds a text with'),
  max_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(TOKENS_MAX)
    .describe('tokens of a text that the model accepts, if it is not in the catalog'),
});
export type NewVendor = z.output<typeof NewVendor>;

export const AddedVendor = z
  .object({
    name: z.string(),
    model: z.string().describe('id of the model in requests'),
    dimensions: z.int().describe('length of the vectors that the vendor sent'),
    latency_ms: z.int().describe('time of the test call'),
  })
  .meta({ id: 'AddedVendor' });
export type AddedVendor = z.output<typeof AddedVendor>;

/** Model outside the catalog that an added vendor serves. */
export const VendorModel = z.object({ id: z.string(), dimensions: z.int(), max_tokens: z.int() });
export type VendorModel = z.output<typeof VendorModel>;
