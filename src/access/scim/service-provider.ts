import { URN } from './schema.ts';

const CORE = 'urn:ietf:params:scim:schemas:core:2.0';

/** SCIM features that the service supports (RFC 7643, section 5). */
export const SERVICE_PROVIDER_CONFIG = {
  schemas: [`${CORE}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'An API key with the scopes users:manage, groups:manage and those of a member, as a bearer token',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: '/scim/v2/ServiceProviderConfig' },
};

function resourceType(name: 'User' | 'Group', schema: string) {
  return {
    schemas: [`${CORE}:ResourceType`],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema,
    meta: { resourceType: 'ResourceType', location: `/scim/v2/ResourceTypes/${name}` },
  };
}

export const RESOURCE_TYPES = listOf([resourceType('User', URN.user), resourceType('Group', URN.group)]);

/** Describe an attribute with the defaults of RFC 7643, section 2.2. */
function attribute(name: string, more: object = {}) {
  const defaults = { type: 'string', multiValued: false, required: false, caseExact: false, mutability: 'readWrite' };
  return { name, ...defaults, returned: 'default', uniqueness: 'none', ...more };
}

const SUB_ATTRIBUTES = [attribute('value'), attribute('display', { mutability: 'readOnly' })];
const REFERENCES = { type: 'complex', multiValued: true };

export const SCHEMAS = listOf([
  {
    schemas: [`${CORE}:Schema`],
    id: URN.user,
    name: 'User',
    description: 'A person of the organization',
    attributes: [
      attribute('userName', { required: true, uniqueness: 'server' }),
      attribute('externalId', { caseExact: true }),
      attribute('active', { type: 'boolean' }),
      attribute('emails', {
        ...REFERENCES,
        mutability: 'readOnly',
        subAttributes: [attribute('value'), attribute('type'), attribute('primary', { type: 'boolean' })],
      }),
      attribute('groups', { ...REFERENCES, mutability: 'readOnly', subAttributes: SUB_ATTRIBUTES }),
    ],
    meta: { resourceType: 'Schema', location: `/scim/v2/Schemas/${URN.user}` },
  },
  {
    schemas: [`${CORE}:Schema`],
    id: URN.group,
    name: 'Group',
    description: 'A group whose members read the documents that name it',
    attributes: [
      attribute('displayName', { required: true, uniqueness: 'server' }),
      attribute('externalId', { caseExact: true }),
      attribute('members', { ...REFERENCES, subAttributes: [...SUB_ATTRIBUTES, attribute('type')] }),
    ],
    meta: { resourceType: 'Schema', location: `/scim/v2/Schemas/${URN.group}` },
  },
]);

function listOf<Resource>(resources: Resource[]) {
  const { length } = resources;
  return { schemas: [URN.list], totalResults: length, startIndex: 1, itemsPerPage: length, Resources: resources };
}
