import { useState } from 'preact/hooks';
import { ApiError, errorOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { currentCaller } from '../../lib/session.ts';
import type { ChannelView } from '../../types.ts';
import { ActionError, Button, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';

interface Message {
  readonly id: number;
  readonly isMine: boolean;
  readonly text: string;
}

interface ChannelReply {
  readonly template: { readonly outputs: readonly { readonly simpleText: { readonly text: string } }[] };
}

/** Chat with a channel in place of the messenger. The browser signs each message with the typed secret. */
export function Chat({ configs }: { configs: readonly ChannelView[] }) {
  const messengers = configs.filter(({ provider }) => provider === 'messenger');
  const [chosen, setChosen] = useState('');
  const [secret, setSecret] = useState('');
  const [text, setText] = useState('');
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const config = messengers.find(({ id }) => id === chosen) ?? messengers[0];
  const say = (isMine: boolean, texts: readonly string[]) =>
    setMessages((before) => [...before, ...texts.map((each, at) => ({ id: before.length + at, isMine, text: each }))]);
  const send = useAction(async () => {
    const utterance = text.trim();
    if (utterance === '' || config === undefined) return;
    const reply = await deliver(
      { bot_id: String(config.config['bot_id']), user_id: `console-${currentCaller().org.id}`, utterance },
      secret,
    );
    say(true, [utterance]);
    say(
      false,
      reply.template.outputs.map(({ simpleText }) => simpleText.text),
    );
    setText('');
  });
  if (config === undefined) {
    return (
      <Panel>
        <Empty title={t('There are no channels yet')}>
          {t('A channel connects a bot of a messenger to a bucket.')}
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title={t('Try one')} padded>
      <div class="stack">
        <div class="form-grid">
          <SelectField
            label={t('Channel')}
            value={config.id}
            options={messengers.map(({ id, name }) => ({ value: id, label: name }))}
            onValue={setChosen}
          />
          <TextField
            label={t('Secret of the webhook')}
            hint={t('The message is signed with it in this browser. It is not stored.')}
            type="password"
            autocomplete="off"
            value={secret}
            onValue={setSecret}
          />
        </div>
        <ol class="chat" aria-live="polite" aria-label={t('Messages')}>
          {messages.map(({ id, isMine, text: said }) => (
            <li key={id} class={isMine ? 'mine' : undefined}>
              {said}
            </li>
          ))}
        </ol>
        <Form onSubmit={() => send.run()}>
          <TextField label={t('Message')} maxLength={1000} value={text} onValue={setText} autocomplete="off" />
          <ActionError error={send.error} />
          <div class="form-actions">
            <Button type="submit" look="primary" isBusy={send.isRunning} disabled={secret === ''}>
              {t('Send')}
            </Button>
          </div>
        </Form>
      </div>
    </Panel>
  );
}

/** Send a delivery to the webhook, signed as the messenger signs it. @throws ApiError */
async function deliver(delivery: Readonly<Record<string, string>>, secret: string): Promise<ChannelReply> {
  if (globalThis.crypto?.subtle === undefined)
    throw new ApiError(400, t('Open the console by https or on this machine to sign messages.'));
  const body = JSON.stringify(delivery);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(`${timestamp}.${body}`)));
  const response = await fetch('/v1/channels/messenger/webhook', {
    method: 'POST',
    credentials: 'omit',
    headers: {
      'Content-Type': 'application/json',
      'X-Messenger-Timestamp': timestamp,
      'X-Messenger-Signature': Array.from(signature, (byte) => byte.toString(16).padStart(2, '0')).join(''),
    },
    body,
  });
  if (!response.ok) throw errorOf(response.status, await response.text(), response.headers.get('Retry-After'));
  return (await response.json()) as ChannelReply;
}
