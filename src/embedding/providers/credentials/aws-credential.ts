import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { SignatureV4 } from '@smithy/signature-v4';
import { UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import type { CloudCredentials } from '../../../platform/vendor-settings.ts';
import type { Credential } from './credential.ts';

type AwsCredentials = Extract<CloudCredentials, { readonly kind: 'aws' }>;

/** SHA-256 in the form that the signer of the SDK asks for. */
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

/** Sign requests to Bedrock with an access key, or with the role of the machine (AWS Signature Version 4). */
export function openAwsCredential(settings: AwsCredentials): Credential {
  let signer: Promise<SignatureV4> | null = null;
  return {
    key: () => null,
    async sign(request, url) {
      signer ??= openSigner(settings);
      const { protocol, hostname, host, pathname: path } = url;
      const headers = { 'content-type': 'application/json', ...request.headers, host };
      const { method, body } = request;
      try {
        const signed = await (await signer).sign({ method, protocol, hostname, path, query: {}, headers, body });
        return { ...request, headers: signed.headers };
      } catch (error) {
        throw new UpstreamFault({
          kind: 'refused',
          code: 'no_credentials',
          message: `AWS gives no credentials to this machine (${error instanceof Error ? error.name : 'unknown'})`,
        });
      }
    },
    close: async () => {},
  };
}

async function openSigner({ region, keys }: AwsCredentials): Promise<SignatureV4> {
  // Both take a while to load, and most vendors need no signature.
  const { SignatureV4: Signer } = await import('@smithy/signature-v4');
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
  const credentials =
    keys === null
      ? defaultProvider()
      : {
          accessKeyId: keys.accessKeyId.reveal(),
          secretAccessKey: keys.secretAccessKey.reveal(),
          ...(keys.sessionToken === null ? {} : { sessionToken: keys.sessionToken.reveal() }),
        };
  return new Signer({ service: 'bedrock', region, credentials, sha256: Sha256 });
}
