import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useArray } from '../../lib/lists.ts';
import { linkTo, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { ChannelView } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Facts, PageHeader, Panel, Tabs } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { MoreButton } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { Chat } from './chat.tsx';
import { NewChannelDialog } from './new-channel.tsx';
import { Deliveries, Outbox } from './records.tsx';
import { Unanswered } from './unanswered.tsx';

/** Configurations per page. The other tabs show the names of those loaded. */
const PAGE_ROWS = 200;
const PARTS = [
  { part: '', label: 'Configurations' },
  { part: 'deliveries', label: 'Deliveries' },
  { part: 'outbox', label: 'Outbox' },
  { part: 'unanswered', label: 'Unanswered' },
  { part: 'chat', label: 'Try one' },
] as const;

/** Page `/console/channels` and its parts: deliveries, outbox, unanswered questions, and a chat. */
export default function ChannelsPage({ parameters }: PageProps) {
  const current = parameters[0] ?? '';
  const [isCreating, setIsCreating] = useState(false);
  const channels = useArray<ChannelView>('/v1/channels/configs', ({ id }) => id, { limit: PAGE_ROWS });
  return (
    <div class="page">
      <PageHeader
        title={t('Channels')}
        actions={
          mayUse('channels:manage') && (
            <Button look="primary" icon="plus" onClick={() => setIsCreating(true)}>
              {t('New channel')}
            </Button>
          )
        }
      >
        {t('Messengers that are answered from a bucket, and notifications.')}
      </PageHeader>
      <Tabs
        label={t('Channels')}
        tabs={PARTS.map(({ part, label }) => ({
          label: t(label),
          href: part === '' ? linkTo('channels') : linkTo('channels', part),
          isCurrent: part === current,
        }))}
      />
      <Loaded of={channels}>
        {(configs) => {
          if (current === 'deliveries') return <Deliveries configs={configs} />;
          if (current === 'outbox') return <Outbox configs={configs} />;
          if (current === 'unanswered') return <Unanswered configs={configs} />;
          if (current === 'chat') return <Chat configs={configs} />;
          return (
            <>
              <Configurations configs={configs} onChange={channels.refresh} />
              <MoreButton of={channels} />
            </>
          );
        }}
      </Loaded>
      {isCreating && <NewChannelDialog onClose={() => setIsCreating(false)} onSaved={channels.refresh} />}
    </div>
  );
}

function Configurations({ configs, onChange }: { configs: readonly ChannelView[]; onChange: () => void }) {
  const [removing, setRemoving] = useState<ChannelView | null>(null);
  const remove = async () => {
    if (removing === null) return;
    await call(pathOf('v1', 'channels', 'configs', removing.id), { method: 'DELETE' });
    toast(t('{name} was deleted', { name: removing.name }));
    onChange();
  };
  if (configs.length === 0) {
    return (
      <Panel>
        <Empty title={t('There are no channels yet')}>
          {t('A channel connects a bot of a messenger to a bucket.')}
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      {configs.map((channel) => (
        <Panel
          key={channel.id}
          title={channel.name}
          actions={
            mayUse('channels:manage') && (
              <Button small look="danger" icon="trash" onClick={() => setRemoving(channel)}>
                {t('Delete')}
              </Button>
            )
          }
          padded
        >
          <Facts
            of={[
              [t('Provider'), channel.provider],
              ...Object.entries(channel.config).map(([name, value]) => [name, String(value)] as const),
              [t('Id'), <code key="id">{channel.id}</code>],
            ]}
          />
        </Panel>
      ))}
      {removing && (
        <ConfirmDialog
          title={t('Delete the channel {name}?', { name: removing.name })}
          action={t('Delete for good')}
          onConfirm={remove}
          onClose={() => setRemoving(null)}
        >
          <p>{t('Its messages are not answered any more.')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
