import { setTimeout as delay } from 'node:timers/promises';
import { type Authorization, Client, crypto, type Order } from 'acme-client';
import { AppError } from '../../src/platform/errors.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { AcmeSettings } from '../../src/platform/tls-settings.ts';
import type { Identity } from './certificates.ts';
import type { ChallengeAnswers } from './redirect-server.ts';

/** Time limit for a validation or a certificate, and polling interval. */
const STEP_MS_MAX = 90_000;
const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 5_000;

/** Part of an order that the authority works on. */
type Progress = Pick<Order, 'status' | 'error'> | Pick<Authorization, 'status' | 'challenges'>;

/**
 * Get a certificate for one host by ACME (RFC 8555) with the challenge HTTP-01, within `withTransport`.
 *
 * @param options.answers holds the answer to the challenge while the authority validates it
 * @throws AppError `certificate_refused`, with the authority's message; network errors
 */
export async function orderCertificate(
  { domain, email, directoryUrl }: AcmeSettings,
  options: { readonly accountKey: Secret; readonly answers: ChallengeAnswers; readonly signal: AbortSignal },
): Promise<Identity> {
  const { accountKey, answers, signal } = options;
  const client = new Client({ directoryUrl, accountKey: accountKey.reveal() });
  // If the key already has an account, the authority returns it.
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email === null ? {} : { contact: [`mailto:${email}`] }),
  });
  const order = await client.createOrder({ identifiers: [{ type: 'dns', value: domain }] });
  for (const authorization of await client.getAuthorizations(order)) {
    if (authorization.status !== 'valid') await prove(client, authorization, { order, answers, signal });
  }
  const ready = await settled(() => client.getOrder(order), ['ready'], signal);
  const key = await crypto.createPrivateEcdsaKey('P-256');
  const [, request] = await crypto.createCsr({ altNames: [domain] }, key);
  await client.finalizeOrder(ready, request);
  const issued = await settled(() => client.getOrder(order), ['valid'], signal);
  return { chain: await client.getCertificate(issued), key: new Secret(key.toString()) };
}

/** Prove to the authority that this host controls the name. */
async function prove(
  client: Client,
  authorization: Authorization,
  options: { readonly order: Order; readonly answers: ChallengeAnswers; readonly signal: AbortSignal },
): Promise<void> {
  const { order, answers, signal } = options;
  const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
  if (challenge === undefined) throw refused('it offers no challenge HTTP-01');
  answers.set(challenge.token, await client.getChallengeKeyAuthorization(challenge));
  try {
    await client.completeChallenge(challenge);
    const own = async () => {
      const all = await client.getAuthorizations(order);
      return all.find(({ url }) => url === authorization.url) ?? authorization;
    };
    await settled(own, ['valid'], signal);
  } finally {
    answers.delete(challenge.token);
  }
}

/** Poll until the state is one of `wanted`. */
async function settled<T extends Progress>(ask: () => Promise<T>, wanted: string[], signal: AbortSignal): Promise<T> {
  const endMs = performance.now() + STEP_MS_MAX;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const state = await ask();
    if (wanted.includes(state.status)) return state;
    if (!['pending', 'processing', 'ready'].includes(state.status)) throw refused(reasonOf(state));
    if (performance.now() > endMs) throw refused(`it did not decide within ${STEP_MS_MAX / 1000} s`);
    await delay(pauseMs, undefined, { signal });
  }
}

/** Return the authority's explanation of a refusal (RFC 7807), with the requirements for validating this host. */
function reasonOf(state: Progress): string {
  const isCheck = 'challenges' in state;
  const problems = isCheck ? state.challenges.map(({ error }) => error) : [state.error];
  const [problem] = problems.filter((each) => each !== undefined) as { detail?: string }[];
  const reason = problem?.detail ?? `its state is ${state.status}`;
  return isCheck ? `${reason}; the authority must reach this host by its name on port 80` : reason;
}

function refused(reason: string): AppError {
  return new AppError({ code: 'certificate_refused', status: 503, message: reason });
}
