import { NETWORK_REASONS } from '../../../platform/network-reasons.ts';
import { AddressRefused } from '../../../platform/outbound/guarded-agent.ts';

/** Node.js error codes for untrusted certificates. */
const UNTRUSTED = /CERT|UNABLE_TO_VERIFY|SELF_SIGNED|ERR_TLS|ERR_SSL/;

const REASONS: Readonly<Record<string, string>> = {
  ...NETWORK_REASONS,
  EPROTO: 'it does not speak TLS; use http:// if it has none',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was made in time',
  UND_ERR_SOCKET: 'it closes the connection',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'it sends another length than it announces',
};

/** Failure to get a page. The message continues "X can't be read: ". */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';
  /** True if the whole host may be unreachable. */
  readonly isDown: boolean;

  constructor(message: string, options: { readonly isDown?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.isDown = options.isDown ?? false;
  }
}

/** Describe a request error. @param limitMs time limit of the request */
export function toRequestFailure(cause: unknown, limitMs: number): RequestFailure {
  if (cause instanceof RequestFailure) return cause;
  if (cause instanceof AddressRefused) return new RequestFailure(cause.message, { cause });
  const { name, code } = cause as { name?: string; code?: unknown };
  if (name === 'TimeoutError') {
    return new RequestFailure(`it takes longer than ${limitMs / 1_000} s`, { isDown: true, cause });
  }
  const key = typeof code === 'string' ? code : (name ?? 'unknown');
  if (UNTRUSTED.test(key)) {
    const message = `its certificate is not trusted (${key}); renew it, or name the file of its authority in NODE_EXTRA_CA_CERTS`;
    return new RequestFailure(message, { isDown: true, cause });
  }
  const reason = REASONS[key];
  const message = reason === undefined ? `it cannot be read (${key})` : `${reason} (${key})`;
  return new RequestFailure(message, { isDown: reason !== undefined, cause });
}
