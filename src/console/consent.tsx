import { useEffect, useState } from 'preact/hooks';
import { call } from './lib/api.ts';
import { type Message, t } from './lib/i18n.ts';
import { followConsent } from './lib/pending-consent.ts';
import { useAction, useResource } from './lib/resource.ts';
import { currentCaller, session } from './lib/session.ts';
import type { ConsentFacts, ConsentReply } from './types.ts';
import { Button, Check, Form, FormEnd, Notice, SelectField } from './ui/controls.tsx';
import { SignInCard } from './ui/sign-in-card.tsx';
import { Loaded } from './ui/states.tsx';

type Right = ConsentFacts['scopes'][number]['name'];

const RIGHTS: Readonly<Record<Right, Message>> = {
  search: 'Search and read the documents that you may read',
  'documents:write': 'Add documents',
  'workflows:run': 'Run workflows, whose steps with effects still ask a person',
};

const DAYS = [1, 7, 30, 90, 365];

/** Page `/console/authorize`, where a person decides whether a client may act for them. */
export function ConsentPage() {
  const query = location.search.slice(1);
  useEffect(() => followConsent(true), []);
  const consent = useResource(`consent ${query}`, () =>
    call<ConsentReply>('/v1/oauth/consent/view', { method: 'POST', json: { query } }),
  );
  return (
    <SignInCard>
      <Loaded of={consent}>
        {(reply) => ('fault' in reply ? <Fault of={reply} /> : <ConsentForm facts={reply} query={query} />)}
      </Loaded>
    </SignInCard>
  );
}

/** Fault of the client's request. The person can report it to the client by going back. */
function Fault({ of }: { of: Extract<ConsentReply, { fault: string }> }) {
  return (
    <>
      <Notice tone="bad" title={t('The application asked for access in a wrong way')}>
        <span>{of.fault}</span>
      </Notice>
      <Button onClick={() => location.assign(of.return_to)}>{t('Back to {name}', { name: of.client })}</Button>
    </>
  );
}

function ConsentForm({ facts, query }: { facts: ConsentFacts; query: string }) {
  const { client, tool_server: toolServer } = facts;
  const [scopes, setScopes] = useState<ReadonlySet<Right>>(
    new Set(facts.scopes.filter(({ is_requested, is_allowed }) => is_requested && is_allowed).map(({ name }) => name)),
  );
  const [days, setDays] = useState(String(facts.days.usual));
  const decide = useAction(async (approve: boolean) => {
    const json = approve ? { query, approve, scopes: [...scopes], days: Number(days) } : { query, approve };
    const { return_to } = await call<{ return_to: string }>('/v1/oauth/consent', { method: 'POST', json });
    location.assign(return_to);
  });
  const toggle = (name: Right, isOn: boolean) => {
    const next = new Set(scopes);
    if (isOn) next.add(name);
    else next.delete(name);
    setScopes(next);
  };
  return (
    <Form onSubmit={() => scopes.size > 0 && decide.run(true)} aria-label={t('Access')}>
      <div class="stack tight">
        <h1>{t('Give {name} access?', { name: client.name })}</h1>
        <p class="quiet">{t('It acts for you at {address}, and never sees more than you.', { address: toolServer })}</p>
      </div>
      <Origin of={client} />
      <fieldset class="stack tight">
        <legend>{t('It may')}</legend>
        {facts.scopes.map(({ name, is_allowed }) => (
          <Check
            key={name}
            label={is_allowed ? t(RIGHTS[name]) : t('{right} (you do not have this right)', { right: t(RIGHTS[name]) })}
            isOn={scopes.has(name)}
            disabled={!is_allowed}
            onToggle={(isOn) => toggle(name, isOn)}
          />
        ))}
      </fieldset>
      <SelectField
        label={t('For how long')}
        value={days}
        onValue={setDays}
        options={DAYS.map((count) => ({
          value: String(count),
          label: count === 1 ? t('1 day') : t('{count} days', { count }),
        }))}
      />
      <Who />
      <FormEnd of={decide} submit={t('Give access')} disabled={scopes.size === 0} onLeave={() => decide.run(false)} />
    </Form>
  );
}

/** Facts by which a person recognises an impostor client. */
function Origin({ of: { id_host, redirect_host, is_local } }: { of: ConsentFacts['client'] }) {
  return (
    <Notice
      tone={id_host === null || is_local ? 'warn' : 'info'}
      title={t('It returns to {host}', { host: redirect_host })}
    >
      <span>
        {id_host === null
          ? t('The name comes from the application itself. Nobody has checked it.')
          : t('{host} vouches for the name.', { host: id_host })}
      </span>
      {is_local && <span>{t('It runs on this device. Go on only if you have just started it yourself.')}</span>}
    </Notice>
  );
}

/** Person who decides, with a link to switch accounts. */
function Who() {
  const { org, user, key, kind } = currentCaller();
  const name = user?.email ?? key?.name ?? kind;
  const change = () => session.set({ kind: 'signed_out', reason: null });
  return (
    <p class="quiet">
      {t('You are {name} in {organization}.', { name, organization: org.name })}{' '}
      <Button look="quiet" small onClick={change}>
        {t('Sign in as somebody else')}
      </Button>
    </p>
  );
}
