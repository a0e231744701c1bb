import type { IncomingHttpHeaders } from 'node:http';

/** Client library that sent a request, identified by the headers of OpenAI's libraries. */
export interface ClientSdk {
  /** Value of `X-Stainless-Lang`: `js`, `python` and so on. */
  readonly language: string;
  readonly major: number;
  readonly minor: number;
}

const VERSION = /^(\d{1,6})\.(\d{1,6})\./;

/** Read the client library from `X-Stainless-Lang` and `X-Stainless-Package-Version`; null if they are missing. */
export function clientSdkOf(headers: IncomingHttpHeaders): ClientSdk | null {
  const language = headers['x-stainless-lang'];
  const version = VERSION.exec(String(headers['x-stainless-package-version']));
  if (typeof language !== 'string' || version === null) return null;
  return { language, major: Number(version[1]), minor: Number(version[2]) };
}

/**
 * Return true for versions of OpenAI's JavaScript library that ask for base64 where their caller does not choose, and
 * decode any answer as base64: plain numbers silently become zeros. Measured: 5.23 to 7.0, and LangChain and LlamaIndex
 * on top of them. Version 7.1 and later read both forms.
 */
export function readsOnlyBase64(sdk: ClientSdk | null): boolean {
  if (sdk?.language !== 'js') return false;
  const { major, minor } = sdk;
  return (major === 5 && minor >= 23) || major === 6 || (major === 7 && minor === 0);
}
