import { expect, test } from 'vitest';
import { runCommand } from './service.ts';

// A command line that is wrong gets one line with the nearest right form.
test.each([
  [
    ['search'],
    'QUERY (question or words to search for) is missing; right form: service search QUERY (see service search --help)',
  ],
  [
    ['sources', 'add', '--connection', 'docs'],
    'NAME (name of the source) is missing; right form: service sources add NAME --connection CONNECTION (see service sources add --help)',
  ],
  [
    ['keys', 'create'],
    '--name is missing; right form: service keys create --name NAME (see service keys create --help)',
  ],
  [
    ['jobs', 'show', 'a', 'b'],
    'the argument "b" cannot be used; right form: service jobs show ID (see service jobs show --help)',
  ],
  [
    ['jobs', 'list', '--statsu', 'failed'],
    'there is no flag --statsu; did you mean --status? (see service jobs list --help)',
  ],
  [
    ['orgs', 'create', 'x', '--plan', 'entreprise'],
    '--plan: "entreprise" must be one of enterprise, business, pro, paid, starter, free; did you mean enterprise? (see service orgs create --help)',
  ],
  [['embed', 'x', '--model'], '--model needs a value: --model MODEL (see service embed --help)'],
  [['embed', 'x', '--dimensions', 'many'], '--dimensions must be an integer, not "many" (see service embed --help)'],
  [['job'], 'there is no command "job"; did you mean "jobs"? (see service --help)'],
  [['jobs', 'lst', 'x'], 'there is no command "jobs lst"; did you mean "jobs list"? (see service --help)'],
  [['bukets', 'list'], 'there is no command "bukets list"; did you mean "buckets list"? (see service --help)'],
  [
    ['projections', 'fit', 'nonsense'],
    'the argument "nonsense" cannot be used; right form: service projections fit --model MODEL (see service projections fit --help)',
  ],
  [
    ['buckets', 'synonyms', 'show', 'manuals', 'pump', 'valve'],
    'the arguments "pump", "valve" cannot be used; right form: service buckets synonyms show BUCKET (see service buckets synonyms show --help)',
  ],
  [['documents', 'nonsense'], 'there is no command "documents nonsense" (see service --help)'],
  [['documents', '--help', 'nonsense'], 'there is no command "documents nonsense" (see service --help)'],
])('wrong usage is answered in one line with the nearest right form: %j', async (args, line) => {
  expect(await runCommand(args, { SERVICE_DATA_DIR: '/nowhere/at/all' })).toMatchObject({
    ...{ code: 2, stdout: '', stderr: `service: ${line}\n` },
  });
});

test('a wrong duration names its flag', async () => {
  const run = await runCommand(['reaper', '--every', 'soon'], { SERVICE_DATA_DIR: '/nowhere/at/all' });
  expect(run).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^service: --every: a duration is a whole number/),
  });
});

test.each(['show', 'activate', 'retire'])(
  'projections %s names VERSION if it is no positive integer',
  async (command) => {
    for (const version of ['abc', '0', '1.5']) {
      const run = await runCommand(['projections', command, version], { SERVICE_DATA_DIR: '/nowhere/at/all' });
      expect([run.code, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toContain(`VERSION must be a positive integer, as in "projections list", not "${version}"`);
    }
  },
);

test('embed refuses the sign of stdin beside other texts', async () => {
  const run = await runCommand(['embed', 'x', '-'], { SERVICE_DATA_DIR: '/nowhere/at/all' });
  expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('TEXT: - reads stdin') });
});
