import { call } from '../../lib/api.ts';
import { formatDay, formatNumber, formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useResource } from '../../lib/resource.ts';
import type { ChannelView, QuestionView, UnansweredView } from '../../types.ts';
import { Panel } from '../../ui/page.tsx';
import { List, Table } from '../../ui/table.tsx';

/** Questions that the bucket couldn't answer: their counts, and their texts if the operator keeps them. */
export function Unanswered({ configs }: { configs: readonly ChannelView[] }) {
  const counts = useResource('unanswered', (signal) =>
    call<readonly UnansweredView[]>('/v1/channels/unanswered', { signal }),
  );
  const questions = useList<QuestionView>('/v1/channels/questions');
  const nameOf = (id: string) => configs.find((config) => config.id === id)?.name ?? id;
  return (
    <>
      <Panel title={t('Unanswered questions')}>
        <List
          of={counts}
          empty={t('Every question was answered')}
          hint={t('Questions to which the bucket has no answer are counted here.')}
        >
          {(rows) => (
            <Table
              caption={t('Unanswered questions')}
              rows={rows}
              keyOf={(row) => row.channel_config_id}
              columns={[
                { title: t('Channel'), cell: (row) => nameOf(row.channel_config_id) },
                { title: t('Last 30 days'), numeric: true, cell: (row) => formatNumber(row.last_30_days) },
                { title: t('In all'), numeric: true, wide: true, cell: (row) => formatNumber(row.total) },
                { title: t('Last day'), wide: true, class: 'nowrap', cell: (row) => formatDay(row.last_day) },
              ]}
            />
          )}
        </List>
      </Panel>
      <Panel title={t('Texts of unanswered questions')}>
        <List
          of={questions}
          empty={t('No texts are kept')}
          hint={t('The operator can keep them for 30 days, without those who asked: channels.keep_questions.')}
        >
          {(rows) => (
            <Table
              caption={t('Texts of unanswered questions')}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: t('Question'), cell: ({ question }) => <span class="result-text whole">{question}</span> },
                { title: t('Channel'), wide: true, cell: (row) => nameOf(row.channel_config_id) },
                { title: t('Received'), wide: true, class: 'nowrap', cell: (row) => formatTime(row.asked_at) },
              ]}
            />
          )}
        </List>
      </Panel>
    </>
  );
}
