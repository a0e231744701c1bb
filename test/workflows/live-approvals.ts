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
  const approver = await api.key({ scopes: [...SCOPES, 'workflows:approve', 'platform_admin'] });
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
 * Run random workflows on a whole installation with a provider that records, continue those that wait with random decisions,
 * and compare what has happened with what was approved.
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
    const isRunner = key === keys.runner || mode !== 'live';
    const sideEffects = sideEffectsOf(definition);
    const done = new Set<string>();
    // A run that waits is continued with random decisions, again and again, until nothing waits or nobody decides.
    for (let reply = body, decisions = isRunner ? {} : approvals; ; ) {
      const blocks = (reply.blocks as { id: string; status: string }[]).filter(({ id }) => sideEffects.includes(id));
      const completed = blocks.filter(({ status }) => status === 'completed').map(({ id }) => id);
      const added = completed.filter((id) => !done.has(id));
      expect([at, added.filter((id) => decisions[id] !== true)]).toEqual([at, []]);
      expect([at, [...done].filter((id) => !completed.includes(id))]).toEqual([at, []]);
      for (const id of added) expected.push(`d${at}-${id}`);
      for (const id of added) done.add(id);
      const waiting = blocks.filter(({ status }) => status === 'needs_approval').map(({ id }) => id);
      const decided = waiting.filter(() => random.int(2) === 0);
      if (reply.status !== 'needs_approval' || decided.length === 0) break;
      decisions = Object.fromEntries(decided.map((id) => [id, random.int(3) !== 0]));
      const json = { approvals: decisions };
      const next = await api.call('POST', `${path}/runs/${reply.run_id}/approve`, { key: keys.approver, json });
      expect(next).toMatchObject({ status: 200 });
      reply = next.body;
    }
    withheld += sideEffects.filter((id) => !done.has(id)).length;
  }
  expect((await happened(world)).toSorted()).toEqual(expected.toSorted());
  return { done: expected.length, withheld };
}
