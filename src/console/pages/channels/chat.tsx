import { useState } from 'preact/hooks';
import { ApiError, call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { ChannelTest, ChannelView } from '../../types.ts';
import { ActionError, Button, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';

interface Message {
  readonly id: number;
  readonly isMine: boolean;
  readonly text: string;
}

/** Chat with a channel in place of its platform. */
export function Chat({ configs }: { configs: readonly ChannelView[] }) {
  const answering = configs.filter(({ config }) => typeof config['collection'] === 'string');
  const [chosen, setChosen] = useState('');
  const [text, setText] = useState('');
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const config = answering.find(({ id }) => id === chosen) ?? answering[0];
  const say = (isMine: boolean, said: string) =>
    setMessages((before) => [...before, { id: before.length, isMine, text: said }]);
  const send = useAction(async () => {
    const query = text.trim();
    if (query === '' || config === undefined) return;
    const path = pathOf('v1', 'channels', 'configs', config.id, 'test');
    const reply = await call<ChannelTest>(path, { method: 'POST', json: { query } });
    say(true, query);
    say(false, reply.text);
    setText('');
    if (reply.credential?.status === 'refused') {
      throw new ApiError(
        502,
        t('The platform refuses the token of the channel: {reason}', { reason: reply.credential.reason ?? '' }),
      );
    }
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
            options={answering.map(({ id, name }) => ({ value: id, label: name }))}
            onValue={setChosen}
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
            <Button type="submit" look="primary" isBusy={send.isRunning}>
              {t('Send')}
            </Button>
          </div>
        </Form>
      </div>
    </Panel>
  );
}
