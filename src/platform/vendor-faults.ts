import type { Address, ProtocolName } from './vendor-fields.ts';

type AddressKey = keyof Address;

/** Fields specific to one protocol. */
const OWN_FIELDS: Readonly<Partial<Record<ProtocolName, readonly AddressKey[]>>> = {
  bedrock: ['region', 'access_key_id', 'secret_access_key', 'session_token', 'credentials'],
  vertex: ['project', 'location', 'service_account'],
};
/** Protocols whose address is derived from a region or location. */
const WITH_DEFAULT_URL: ReadonlySet<ProtocolName> = new Set(['bedrock', 'vertex']);

/** Missing, superfluous or contradictory setting. An empty path means the provider itself. */
interface Fault {
  readonly path: (string | number)[];
  readonly message: string;
}

type ProviderFile = Address & {
  readonly protocol: ProtocolName;
  readonly api_version?: string | undefined;
  readonly endpoints?: readonly Address[] | undefined;
};

/** Create a new fault each time, because zod modifies its path. */
const noAddress = (): Fault => ({ path: [], message: 'needs either base_url or endpoints' });

/** Find the fields that a provider's protocol requires but that are missing, and fields that it doesn't have. */
export function providerFaults(provider: ProviderFile): Fault[] {
  const { protocol, endpoints, api_version: version } = provider;
  const ofVersion = version !== undefined && protocol !== 'azure' ? [needless('api_version', 'azure')] : [];
  const ofAddress = endpoints === undefined ? singleFaults(provider) : listFaults(provider, endpoints);
  return [...ofVersion, ...ofAddress];
}

/** Find the faults of a vendor with a single address, as in the settings. */
export function vendorFaults(vendor: ProviderFile): Fault[] {
  return providerFaults(vendor).map((fault) =>
    fault.path.length === 0 ? { path: ['base_url'], message: 'is needed' } : fault,
  );
}

function singleFaults(provider: ProviderFile): Fault[] {
  const { protocol } = provider;
  return [...(isPlaced(protocol, provider) ? [] : [noAddress()]), ...addressFaults(protocol, provider)];
}

/** Find the faults of a list of endpoints, each of which has all fields. */
function listFaults(provider: ProviderFile, endpoints: readonly Address[]): Fault[] {
  const { protocol, base_url: baseUrl } = provider;
  const keys: readonly AddressKey[] = ['api_key', ...Object.values(OWN_FIELDS).flat()];
  return [
    ...(baseUrl === undefined ? [] : [noAddress()]),
    ...keys
      .filter((key) => provider[key] !== undefined)
      .map((key) => ({ path: [key], message: `cannot be combined with endpoints; set ${key} in each endpoint` })),
    ...endpoints.flatMap((endpoint, index) =>
      [
        ...(isPlaced(protocol, endpoint) ? [] : [{ path: ['base_url'], message: 'is needed' }]),
        ...addressFaults(protocol, endpoint),
      ].map(({ path, message }) => ({ path: ['endpoints', index, ...path], message })),
    ),
  ];
}

function isPlaced(protocol: ProtocolName, { base_url: baseUrl }: Address): boolean {
  return baseUrl !== undefined || WITH_DEFAULT_URL.has(protocol);
}

function addressFaults(protocol: ProtocolName, given: Address): Fault[] {
  const others = (Object.entries(OWN_FIELDS) as [ProtocolName, readonly AddressKey[]][]).flatMap(([owner, keys]) =>
    owner === protocol ? [] : keys.filter((key) => given[key] !== undefined).map((key) => needless(key, owner)),
  );
  if (protocol === 'bedrock') return [...others, ...bedrockFaults(given)];
  if (protocol === 'vertex') return [...others, ...vertexFaults(given)];
  return others;
}

function needless(key: string, owner: ProtocolName): Fault {
  return { path: [key], message: `is only for protocol ${owner}; remove it` };
}

function vertexFaults(given: Address): Fault[] {
  const missing = (['project', 'location', 'service_account'] as const).filter((key) => given[key] === undefined);
  const faults = missing.map((key) => ({ path: [key], message: 'is needed by protocol vertex' }));
  if (given.api_key === undefined) return faults;
  return [...faults, { path: ['api_key'], message: 'is not for protocol vertex; use service_account' }];
}

function bedrockFaults({ region, credentials, api_key: key, ...aws }: Address): Fault[] {
  const { access_key_id: id, secret_access_key: secret, session_token: token } = aws;
  const ways = [key !== undefined, id !== undefined, credentials === 'aws'].filter(Boolean).length;
  const checks: [boolean, string, string][] = [
    [region !== undefined, 'region', 'is needed by protocol bedrock'],
    [ways === 1, 'api_key', 'bedrock needs exactly one of api_key, access_key_id and "credentials: aws"'],
    [
      ...([(id === undefined) === (secret === undefined), 'secret_access_key'] as const),
      'access_key_id and secret_access_key belong together; set both or none',
    ],
    [token === undefined || id !== undefined, 'session_token', 'is only for access_key_id'],
  ];
  return checks.filter(([isRight]) => !isRight).map(([, path, message]) => ({ path: [path], message }));
}
