import { useEffect, useRef, useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { ModelView, RehearsalReply } from '../../types.ts';
import { ActionError, Button, Field, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import type { BucketModel } from './read-bucket-models.ts';
import { RehearsalReport } from './rehearsal-report.tsx';

const SAMPLE = { min: 100, max: 5_000, usual: 2_000 };

interface RehearsalPanelProps {
  readonly bucket: BucketModel;
  readonly models: readonly ModelView[];
  readonly onClose: () => void;
}

/** Panel that compares a candidate with a bucket's current model. It shows the cost before embedding anything. */
export function RehearsalPanel({ bucket, models, onClose }: RehearsalPanelProps) {
  const choices = models.filter(({ id, available }) => available && id !== bucket.model);
  const [model, setModel] = useState(choices[0]?.id ?? '');
  const [typed, setTyped] = useState('');
  const [sample, setSample] = useState(String(SAMPLE.usual));
  const [report, setReport] = useState<RehearsalReply | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const queries = queriesOf(typed);
  const request = { model, sample: Number(sample), ...(queries.length === 0 ? {} : { queries }) };
  const key = JSON.stringify(request);
  const [reported, setReported] = useState('');
  const rehearse = useAction(async (isDry: boolean) => {
    running.current = new AbortController();
    const { signal } = running.current;
    const json = { ...request, dry_run: isDry };
    setReport(
      await call<RehearsalReply>(pathOf('v1', 'buckets', bucket.id, 'rehearsals'), { method: 'POST', json, signal }),
    );
    setReported(key);
  });
  const isEstimated = report !== null && reported === key;
  return (
    <Panel
      title={t('Rehearse {name} with another model', { name: bucket.name })}
      actions={<Button onClick={onClose}>{t('Close')}</Button>}
      padded
    >
      <Form onSubmit={() => rehearse.run(!isEstimated)}>
        <p>{t('A sample of the chunks is ranked by both models. The bucket stays as it is.')}</p>
        <div class="columns">
          <SelectField
            label={t('Model')}
            value={model}
            options={choices.map(({ id }) => ({ value: id, label: id }))}
            onValue={setModel}
          />
          <TextField
            label={t('Chunks of the sample')}
            type="number"
            required
            min={SAMPLE.min}
            max={SAMPLE.max}
            value={sample}
            onValue={setSample}
          />
        </div>
        <Field
          label={t('Queries to compare')}
          hint={t('One on each line. Without any, those of the search log are used: judged ones first.')}
        >
          {(control) => (
            <textarea
              class="input"
              rows={3}
              {...control}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
        </Field>
        <ActionError error={rehearse.error} />
        {isEstimated && report.dry_run && (
          <p role="status">
            {t('The rehearsal embeds about {texts} texts, {tokens} tokens, for {cost}.', {
              texts: report.rehearsal.texts,
              tokens: report.rehearsal.tokens,
              cost: formatNumber(report.rehearsal.cost, 4),
            })}
          </p>
        )}
        <div class="form-actions">
          {rehearse.isRunning && <Button onClick={() => running.current?.abort()}>{t('Stop')}</Button>}
          <Button type="submit" look="primary" isBusy={rehearse.isRunning} disabled={model === ''}>
            {isEstimated ? t('Rehearse') : t('Show what it costs')}
          </Button>
        </div>
      </Form>
      {isEstimated && !report.dry_run && <RehearsalReport report={report} />}
    </Panel>
  );
}

/** Parse the distinct queries of a text, one per line. */
function queriesOf(text: string): { query: string }[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines)].filter((line) => line !== '').map((query) => ({ query }));
}
