import { z } from 'zod';
import { VENDORS } from '../../src/cli/vendors.ts';
import type { Backends } from '../../src/embedding/backends.ts';
import type { Config } from '../../src/platform/config.ts';
import { defineRoute, type Route } from '../route.ts';

const Vendor = z
  .object({
    name: z.string().describe('prefix of the ids of its models'),
    protocol: z.string().nullable().describe('wire protocol of its API; null if it is not set up and has no usual one'),
    is_set_up: z.boolean().describe('the setting providers has it'),
    models: z.array(z.object({ id: z.string(), price_per_million: z.number().describe('0 if unset') })),
  })
  .meta({ id: 'Vendor' });
type Vendor = z.output<typeof Vendor>;

/** Vendors of the catalog that are no vendors: the built-in model and the alias. */
const OWN: ReadonlySet<string> = new Set(['local', 'service']);

/** Make the route of the vendors: those of the catalog and those of the settings. */
export function vendorRoutes({ catalog }: Backends, providers: Config['providers']): Route[] {
  const list = (): Vendor[] => {
    const models = Map.groupBy(catalog.list(), ({ vendor }) => vendor);
    const names = new Set([...models.keys(), ...Object.keys(providers)].filter((name) => !OWN.has(name)));
    return [...names].toSorted().map((name) => ({
      name,
      protocol: providers[name]?.protocol ?? VENDORS.find((vendor) => vendor.name === name)?.protocol ?? null,
      is_set_up: Object.hasOwn(providers, name),
      models: (models.get(name) ?? []).map(({ id, pricePerMillion }) => ({ id, price_per_million: pricePerMillion })),
    }));
  };
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/vendors',
      operationId: 'listVendors',
      summary: 'Vendors of models: their protocol, whether they are set up, and the prices of their models',
      access: 'caller',
      errors: 'embedding',
      reads: 'none',
      responses: {
        200: { description: 'The vendors', schema: z.object({ object: z.literal('list'), data: z.array(Vendor) }) },
      },
      handle: async () => ({ body: { object: 'list', data: list() } }),
    }),
  ];
}
