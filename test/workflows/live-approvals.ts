import { expect } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, fillBucket } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import type { SeededRandom } from '../support/random.ts';
import { drawApprovals, drawDefinition, sideEffectsOf, type Targets } from './draw-definition.ts';

const SCOPES: Scope[] = [
  ...(['workflows:manage', 'workflows:run', 'search', 'documents:write', 'buckets:manage', 'channels:manage'] as const),
];

interface World {
  readonly provider: FakeMessenger;
  readonly api: TestApi;
  /** Key that may approve, and key that may not. */
  readonly keys: { readonly approver: string; readonly runner: string };
  readonly targets: Targets;
}

async function openWorld(): Promise<World> {
  const provider = await FakeMessenger.start();
  const api = await openTestApi({ settings: { channels: { messenger: { base_url: provider.url } } } });
  const approver = await api.key({ scopes: [...SCOPES, 'workflows:approve'] });
  const keys = { approver, runner: await api.key({ scopes: SCOPES }) };
  await fillBucket(api, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased with words.' }]);
  const { body } = await api.call('GET', '/v1/buckets/default/documents', { key: approver });
  const targets = { bucket: 'default', channel: await createConfig(api, approver), document: body.data[0].id };
  return { provider, api, keys, targets };
}

/** Marks of all side effects that have happened so far: messages at the provider, documents, keys of the document. */
async function happened({ api, provider }: World): Promise<string[]> {
  const { sql } = api.appliance;
  const sent = provider.seen.map(({ body }) => (body as { template_code: string }).template_code);
  const files = await sql`SELECT file_name FROM documents WHERE file_name LIKE 'd%-b%.txt'`;
  const edits = await sql`
    SELECT jsonb_object_keys(detail -> 'after') AS key FROM audit_log WHERE action = 'document.edit_metadata'`;
  const keysOfEdits = edits.map((row) => String(row['key']).replace('metadata.', ''));
  return [...sent, ...files.map((row) => String(row['file_name']).replace('.txt', '')), ...keysOfEdits];
}

/**
 * Run random workflows on a whole installation with a provider that records, and compare what has happened with what was
 * approved.
 *
 * @returns number of side effects that happened, and of those that were kept from happening
 */
export async function checkLiveApprovals(
  random: SeededRandom,
  runs: number,
): Promise<{ done: number; withheld: number }> {
  const world = await openWorld();
  try {
    return await runAll(world, random, runs);
  } finally {
    await world.api.close();
    await world.provider.close();
  }
}

async function runAll(world: World, random: SeededRandom, runs: number) {
  const { api, keys, targets } = world;
  const expected: string[] = [];
  let withheld = 0;
  for (let at = 0; at < runs; at++) {
    const definition = drawDefinition(random, `d${at}`, targets);
    const created = await api.call('POST', '/v1/workflows', {
      key: keys.approver,
      json: { name: `w${at}`, definition },
    });
    expect(created).toMatchObject({ status: 201 });
    const path = `/v1/workflows/${created.body.id}`;
    await api.call('POST', `${path}/publish`, { key: keys.approver });
    const key = random.int(4) === 0 ? keys.runner : keys.approver;
    const mode = random.int(5) === 0 ? 'simulate' : 'live';
    const approvals = drawApprovals(random, definition);
    const inputs = { topic: 'pumps', flag: random.int(2) === 0, note: random.pick(['', 'n']) };
    const { status, body } = await api.call('POST', `${path}/run`, { key, json: { inputs, mode, approvals } });
    expect([status, body.status]).toEqual([200, expect.stringMatching(/^(completed|needs_approval|failed)$/)]);
    const mayAct = mode === 'live' && key === keys.approver;
    for (const block of body.blocks as { id: string; status: string; error: string | null }[]) {
      if (!sideEffectsOf(definition).includes(block.id)) continue;
      const isApproved = mayAct && approvals[block.id] === true;
      if (block.status === 'completed') {
        expect([at, block.id, isApproved]).toEqual([at, block.id, true]);
        expected.push(`d${at}-${block.id}`);
      } else if (!isApproved) withheld++;
    }
  }
  expect((await happened(world)).toSorted()).toEqual(expected.toSorted());
  return { done: expected.length, withheld };
}
