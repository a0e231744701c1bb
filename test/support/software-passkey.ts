import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
}
interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
}

/** Changes of a test to the answers of the device. */
interface Lies {
  readonly origin?: string;
  readonly challenge?: string;
  readonly isVerified?: boolean;
}

/** Passkey in software: an ES256 key that answers as an authenticator does (Web Authentication Level 3, 6 and 7). */
export class SoftwarePasskey {
  readonly id = randomBytes(16);
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  #counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Answer `navigator.credentials.create()`, with an attestation of the format `none`. */
  create({ challenge, rp }: CreationOptions, lies: Lies = {}) {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const [xBytes, yBytes] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
    // COSE key in CBOR: {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
    const cose = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      xBytes,
      Buffer.from('225820', 'hex'),
      yBytes,
    ]);
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, this.id.length]), this.id, cose]);
    const data = Buffer.concat([this.#authenticatorData(rp.id, lies, HAS_CREDENTIAL), credential]);
    // {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
    const attestation = Buffer.concat([
      Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex'),
      Buffer.from([data.length >> 8, data.length & 0xff]),
      data,
    ]);
    const clientDataJSON = this.#clientData('webauthn.create', challenge, lies).toString('base64url');
    return this.#answer({
      clientDataJSON,
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** Answer `navigator.credentials.get()`. */
  get({ challenge, rpId }: RequestOptions, lies: Lies = {}) {
    this.#counter++;
    const data = this.#authenticatorData(rpId, lies, 0);
    const client = this.#clientData('webauthn.get', challenge, lies);
    const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
    return this.#answer({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', signed, this.#keys.privateKey).toString('base64url'),
    });
  }

  #answer(response: object) {
    const id = this.id.toString('base64url');
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #authenticatorData(rpId: string, { isVerified = true }: Lies, more: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.#counter);
    const flags = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | more;
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counter]);
  }

  #clientData(type: string, asked: string, { origin = this.#origin, challenge = asked }: Lies): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }
}
