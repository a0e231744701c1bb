import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSlackExportReader } from '../../../../src/memory/readers/cloud/slack-export-reader.ts';
import { makeFolder } from '../../../support/memory.ts';
import { BYTES_MAX, listAll, textsOf } from './read-source.ts';

describe('an export of Slack', () => {
  it('shows each day of a channel with names, answers below their message, and plain text', async () => {
    const { folder, remove } = makeFolder();
    onTestFinished(remove);
    const write = (name: string, json: unknown) => writeFileSync(path.join(folder, name), JSON.stringify(json));
    mkdirSync(path.join(folder, 'general'));
    write('users.json', [
      { id: 'U1', name: 'ann', profile: { display_name: 'Ann' } },
      { id: 'U2', name: 'bo' },
    ]);
    write('channels.json', []);
    write('general/2024-05-06.json', [
      {
        type: 'message',
        user: 'U1',
        ts: '1714979289.1',
        thread_ts: '1714979289.1',
        text: 'Where is <@U2>? See <https://x.example|the plan> &amp; <#C1|ops>',
      },
      { type: 'message', user: 'U1', ts: '1714979300.1', text: 'Next topic.' },
      {
        type: 'message',
        user: 'U2',
        ts: '1714979400.1',
        thread_ts: '1714979289.1',
        text: 'Here.',
        files: [{ name: 'map.pdf' }],
      },
      { type: 'message', subtype: 'channel_join', user: 'U2', ts: '1714979500.1', text: 'has joined' },
    ]);
    write('general/2024-05-07.json', { not: 'messages' });
    write('general/2024-05-08.json', [{ type: 'message', user: 'U1', ts: 'noon', text: 'Without a time.' }]);
    const reader = openSlackExportReader({ root: folder, dataDir: '/nowhere', bytesMax: BYTES_MAX });
    const entries = await listAll(reader);
    expect(await textsOf(reader, entries)).toEqual({
      'general/2024-05-06.json':
        '# general, 2024-05-06\n\n**Ann** 07:08: Where is @bo? See the plan (https://x.example) & #ops\n\n' +
        '> **bo** 07:10: Here. [file: map.pdf]\n\n**Ann** 07:08: Next topic.',
      'general/2024-05-07.json': 'fault: it has no messages in the format of a Slack export',
      'general/2024-05-08.json': 'fault: it has no messages in the format of a Slack export',
    });
  });

  it('tells that a folder is no export', async () => {
    const { folder, remove } = makeFolder();
    onTestFinished(remove);
    mkdirSync(path.join(folder, 'general'));
    writeFileSync(path.join(folder, 'general/2024-05-06.json'), '[]');
    const reader = openSlackExportReader({ root: folder, dataDir: '/nowhere', bytesMax: BYTES_MAX });
    const entries = await listAll(reader);
    await expect(reader.read(entries, new AbortController().signal)).rejects.toThrow('there is no users.json');
  });
});
