import type { IncomingHttpHeaders } from 'node:http';

/** Client library that sent a request, identified by the headers of OpenAI's libraries. */
export interface ClientSdk {
  /** `js`, `python` and so on. */
  readonly language: string;
  readonly major: number;
  readonly minor: number;
}

const VERSION = /^(\d{1,6})\.(\d{1,6})\./;
/** `OpenAI/JS 5.22.0`, also with `AsyncOpenAI` or `AzureOpenAI`. */
const USER_AGENT = /^(?:Async)?(?:Azure)?OpenAI\/(JS|Python|Go) (\d{1,6}\.\d{1,6}\.)/i;

/**
 * Read the client library from `X-Stainless-Lang` and `X-Stainless-Package-Version`, or from `User-Agent` if a proxy
 * dropped these; null if none names a library.
 */
export function clientSdkOf(headers: IncomingHttpHeaders): ClientSdk | null {
  const agent = USER_AGENT.exec(headers['user-agent'] ?? '');
  const language = headers['x-stainless-lang'] ?? agent?.[1];
  const version = VERSION.exec(String(headers['x-stainless-package-version'] ?? agent?.[2]));
  if (typeof language !== 'string' || version === null) return null;
  return { language: language.toLowerCase(), major: Number(version[1]), minor: Number(version[2]) };
}

/**
 * Return true for libraries that accept lists of numbers even if the request asks for base64, as measured in
 * `docs/decisions/0070-base64-for-clients-that-ask.md`. The Go library accepts nothing else. Other libraries decode any
 * response as base64, so that numbers silently become zeros.
 */
export function readsLists(sdk: ClientSdk | null): boolean {
  if (sdk?.language === 'python' || sdk?.language === 'go') return true;
  return sdk?.language === 'js' && (sdk.major > 7 || (sdk.major === 7 && sdk.minor >= 30));
}
