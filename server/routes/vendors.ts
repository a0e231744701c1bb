import { z } from 'zod';
import { VENDORS } from '../../src/cli/vendors.ts';
import type { Embedding } from '../../src/embedding/open-embedding.ts';
import { AddedVendor, NewVendor, NewVendorModel, OWN_NAMES } from '../../src/embedding/vendors/schema.ts';
import type { Config } from '../../src/platform/config.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';

const Vendor = z
  .object({
    name: z.string().describe('prefix of the ids of its models'),
    protocol: z.string().nullable().describe('wire protocol of its API; null if it is not set up and has no usual one'),
    is_set_up: z.boolean().describe('true: it is in the setting providers, or an operator added it'),
    is_added: z.boolean().describe('true: an operator added it with POST /v1/vendors; it is not in service.yaml'),
    models: z.array(z.object({ id: z.string(), price_per_million: z.number().describe('0 if unset') })),
  })
  .meta({ id: 'Vendor' });
type Vendor = z.output<typeof Vendor>;

const Removed = z.object({ name: z.string(), deleted: z.literal(true) });

/** Create the routes of the vendors: those of the catalog, of the settings, and those that operators add. */
export function vendorRoutes(
  { backends: { catalog }, vendors }: Pick<Embedding, 'backends' | 'vendors'>,
  providers: Config['providers'],
): Route[] {
  const list = (): Vendor[] => {
    const models = Map.groupBy(catalog.list(), ({ vendor }) => vendor);
    const names = new Set(
      [...models.keys(), ...Object.keys(providers), ...vendors.names()].filter((name) => !OWN_NAMES.has(name)),
    );
    return [...names].toSorted().map((name) => ({
      name,
      protocol:
        providers[name]?.protocol ??
        vendors.protocolOf(name) ??
        VENDORS.find((vendor) => vendor.name === name)?.protocol ??
        null,
      is_set_up: Object.hasOwn(providers, name) || vendors.protocolOf(name) !== null,
      is_added: vendors.protocolOf(name) !== null,
      models: (models.get(name) ?? []).map(({ id, pricePerMillion }) => ({ id, price_per_million: pricePerMillion })),
    }));
  };
  const managed = { access: 'platform_admin', errors: 'embedding' } as const;
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/vendors',
      operationId: 'listVendors',
      summary: 'Vendors of models: their protocol, whether they are set up, and the prices of their models',
      access: 'caller',
      errors: 'embedding',
      responses: {
        200: { description: 'The vendors', schema: z.object({ object: z.literal('list'), data: z.array(Vendor) }) },
      },
      handle: async () => ({ body: { object: 'list', data: list() } }),
    }),
    defineRoute({
      ...managed,
      method: 'POST',
      path: '/v1/vendors',
      operationId: 'addVendor',
      summary: 'Add a vendor after a test call. Every process uses it within seconds; its key is encrypted',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      body: NewVendor,
      responses: { 201: { description: 'The vendor answered the test call and is stored', schema: AddedVendor } },
      refusals: [409, 422, 502],
      handle: async ({ caller, body, signal }) => ({
        status: 201,
        body: await vendors.add(caller.actor, body, signal),
      }),
    }),
    defineRoute({
      ...managed,
      method: 'POST',
      path: '/v1/vendors/:vendor/models',
      operationId: 'addVendorModel',
      summary: 'Add a model to an added vendor after a test call',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: z.object({ vendor: z.string().min(1) }),
      body: NewVendorModel,
      responses: { 201: { description: 'The vendor answered the test call', schema: AddedVendor } },
      refusals: [404, 409, 422, 502],
      handle: async ({ caller, params, body, signal }) => ({
        status: 201,
        body: await vendors.addModel(caller.actor, params.vendor, body, signal),
      }),
    }),
    defineRoute({
      ...managed,
      method: 'DELETE',
      path: '/v1/vendors/:vendor',
      operationId: 'removeVendor',
      summary: 'Remove an added vendor with its key, unless a bucket or the alias uses one of its models',
      params: z.object({ vendor: z.string().min(1) }),
      responses: { 200: { description: 'Removed', schema: Removed } },
      refusals: [409],
      async handle({ caller, params }) {
        await vendors.remove(caller.actor, params.vendor);
        return { body: { name: params.vendor, deleted: true } };
      },
    }),
  ];
}
