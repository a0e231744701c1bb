import { describeReservedKeys, ReservedKeys } from '../../src/metadata/schema.ts';
import { defineRoute, type Route } from '../route.ts';

export function metadataRoutes(): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/metadata/reserved-keys',
      operationId: 'getReservedKeys',
      summary: 'Keys that callers cannot use as metadata, keys they can ask by, and the limits of metadata',
      access: 'caller',
      errors: 'detail',
      reads: 'none',
      responses: { 200: { description: 'The keys', schema: ReservedKeys } },
      async handle() {
        return { body: describeReservedKeys() };
      },
    }),
  ];
}
