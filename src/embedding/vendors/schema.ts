import { z } from 'zod';
import { vendorFaults } from '../../platform/vendor-faults.ts';
import { SimpleVendor } from '../../platform/vendor-settings.ts';

/** Catalog names that aren't vendors: models of this host, and the alias. */
export const OWN_NAMES: ReadonlySet<string> = new Set(['local', 'service']);

/** Model of a vendor, with which a test call embeds a text. */
export const NewVendorModel = z.object({
  model: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]{0,135}$/, 'is not the name of a model')
    .describe('a model at the vendor; a test call embeds a text with it'),
  max_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('maximum number of tokens in a text, for a model outside the catalog (default: 512)'),
});
export type NewVendorModel = z.output<typeof NewVendorModel>;

export const NewVendor = SimpleVendor.extend({
  ...NewVendorModel.shape,
  name: SimpleVendor.shape.name
    .refine((name) => !OWN_NAMES.has(name), 'is a name of this service')
    .describe('prefix of the ids of its models'),
}).superRefine((vendor, context) => {
  for (const fault of vendorFaults(vendor)) context.addIssue({ code: 'custom', ...fault });
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

/** Non-catalog model that an added vendor serves. */
export const VendorModel = z.object({ id: z.string(), dimensions: z.int(), max_tokens: z.int() });
export type VendorModel = z.output<typeof VendorModel>;

/** Parameters of a vendor other than address and secrets. */
export const VendorParameters = SimpleVendor.pick({
  api_version: true,
  region: true,
  credentials: true,
  project: true,
  location: true,
});
export type VendorParameters = z.output<typeof VendorParameters>;

/** Secrets of a vendor other than a key. */
export const VendorSecrets = SimpleVendor.pick({
  access_key_id: true,
  secret_access_key: true,
  session_token: true,
  service_account: true,
});
export type VendorSecrets = z.output<typeof VendorSecrets>;
