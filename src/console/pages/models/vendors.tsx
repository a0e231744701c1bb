import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import { Badge } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { TestCall } from './test-call.tsx';

interface VendorView {
  readonly name: string;
  readonly protocol: string | null;
  readonly is_set_up: boolean;
  readonly models: readonly { readonly id: string; readonly price_per_million: number }[];
}

/** Names of the protocols for people. They are names of products, the same in every language. */
const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  openai: 'OpenAI',
  gemini: 'Gemini',
  voyage: 'Voyage',
  jina: 'Jina',
  cohere: 'Cohere',
  ollama: 'Ollama',
  tei: 'Text Embeddings Inference',
};

/** Vendors of models, what their names stand for, and a test call to those that are set up. */
export function Vendors() {
  const vendors = useResource('vendors', (signal) => call<Page<VendorView>>('/v1/vendors', { signal }), ['providers']);
  return (
    <Panel title={t('Vendors')}>
      <p class="panel-body quiet">
        {t('A vendor serves models over the network. An operator adds one with this command, which makes a test call:')}{' '}
        <code>service init</code>
      </p>
      <Loaded of={vendors}>
        {({ data }) => (
          <Table
            caption={t('Vendors')}
            rows={data}
            keyOf={({ name }) => name}
            columns={[
              {
                title: t('Vendor'),
                cell: ({ name, protocol }) => (
                  <>
                    <span class="main">{name}</span>
                    <span class="sub">{protocolText(protocol)}</span>
                  </>
                ),
              },
              {
                title: t('State'),
                class: 'nowrap',
                cell: ({ is_set_up }) =>
                  is_set_up ? <Badge tone="good">{t('Set up')}</Badge> : <Badge>{t('Not set up')}</Badge>,
              },
              { title: t('Models'), wide: true, cell: modelsCell },
              {
                title: t('Test call'),
                cell: ({ is_set_up, models }) => (is_set_up && models[0] ? <TestCall model={models[0].id} /> : '–'),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function protocolText(protocol: string | null): string {
  if (protocol === null) return t('Any protocol; the settings of the vendor name it.');
  return t('It speaks the protocol of {name}.', { name: PROTOCOL_NAMES[protocol] ?? protocol });
}

function modelsCell({ models }: VendorView) {
  return models.map(({ id, price_per_million: price }) => (
    <span key={id} class="sub">
      {price === 0 ? id : `${id} · ${t('{price} for a million tokens', { price })}`}
    </span>
  ));
}
