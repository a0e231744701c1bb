import type { IncomingHttpHeaders } from 'node:http';

/** Client library that sent a request, as OpenAI's libraries announce themselves. */
export interface ClientSdk {
  /** Value of `X-Stainless-Lang`: `js`, `python` and so on. */
  readonly language: string;
  readonly major: number;
  readonly minor: number;
}

const VERSION = /^(\d{1,6})\.(\d{1,6})\./;

/** Read the client library from `X-Stainless-Lang` and `X-Stainless-Package-Version`; null if they are not there. */
export function clientSdkOf(headers: IncomingHttpHeaders): ClientSdk | null {
  const language = headers['x-stainless-lang'];
  const version = VERSION.exec(String(headers['x-stainless-package-version']));
  if (typeof language !== 'string' || version === null) return null;
  return { language, major: Number(version[1]), minor: Number(version[2]) };
}

/**
 * Return true for versions of OpenAI's JavaScript library that ask for base64 where their caller does not choose, and
 * decode any answer as base64: plain numbers become zeros there without an error. Measured: 5.23 to 7.0, and LangChain
 * and LlamaIndex on top of them; 7.1 and later read what they get.
 */
export function readsOnlyBase64(sdk: ClientSdk | null): boolean {
  if (sdk?.language !== 'js') return false;
  const { major, minor } = sdk;
  return (major === 5 && minor >= 23) || major === 6 || (major === 7 && minor === 0);
}
