import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { SignatureV4 } from '@smithy/signature-v4';
import type { AwsKeys } from '../../../platform/storage-settings.ts';
import { unlessAborted } from '../../../platform/unless-aborted.ts';
import { UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import type { UpstreamRequest } from '../../../platform/upstream/upstream-message.ts';
import type { CloudCredentials } from '../../../platform/vendor-settings.ts';
import type { Credential } from './credential.ts';

type AwsCredentials = Extract<CloudCredentials, { readonly kind: 'aws' }>;

/** SHA-256 with the interface that the SDK's signer requires. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error('the signer makes a new hash each time');
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}

/**
 * Open a credential that signs requests to Bedrock with an access key or the machine's role (AWS Signature Version 4).
 */
export function openAwsCredential(settings: AwsCredentials): Credential {
  let signer: Promise<SignatureV4> | null = null;
  return {
    key: () => null,
    async sign(request, url, signal) {
      signer ??= openSigner(settings);
      try {
        return await unlessAborted(signed(await signer, request, url), signal);
      } catch (error) {
        signal.throwIfAborted();
        throw new UpstreamFault({
          kind: 'refused',
          code: 'no_credentials',
          message: `AWS returned no credentials for this machine (${error instanceof Error ? error.name : 'unknown'})`,
        });
      }
    },
    close: async () => {},
  };
}

async function signed(signer: SignatureV4, request: UpstreamRequest, url: URL): Promise<UpstreamRequest> {
  const { protocol, hostname, host, pathname: path } = url;
  const { method, body } = request;
  const headers = { 'content-type': 'application/json', ...request.headers, host };
  const { headers: withSignature } = await signer.sign({ method, protocol, hostname, path, query: {}, headers, body });
  return { ...request, headers: withSignature };
}

async function openSigner({ region, keys }: AwsCredentials): Promise<SignatureV4> {
  const { SignatureV4: Signer } = await import('@smithy/signature-v4'); // takes a while to load
  const credentials = keys === null ? await findRole() : identityOf(keys);
  return new Signer({ service: 'bedrock', region, credentials, sha256: Sha256 });
}

/** Return the SDK's credential chain: environment, files, and the role of the container or machine. */
async function findRole() {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node'); // takes a while to load
  return defaultProvider();
}

function identityOf({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys) {
  return {
    accessKeyId: accessKeyId.reveal(),
    secretAccessKey: secretAccessKey.reveal(),
    ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
  };
}
