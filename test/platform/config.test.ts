import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listSettings, loadConfig } from '../../src/platform/config.ts';

const DAY_MS = 24 * 3_600_000;

let dataDir: string;
const CANARY = 'canary-value-that-nobody-may-see';

beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'service-config-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const S3 = {
  S3_BUCKET: 'files',
  AWS_ACCESS_KEY_ID: 'AKIA0',
  AWS_SECRET_ACCESS_KEY: CANARY,
  DATABASE_URL: 'postgres://h/d',
  SERVICE_SECRET_KEY: 'x'.repeat(32),
};
const load = (env: Record<string, string> = {}, overrides: Record<string, unknown> = {}) =>
  loadConfig({ env: { SERVICE_DATA_DIR: dataDir, ...env }, overrides });
const yaml = (text: string) => writeFileSync(path.join(dataDir, 'service.yaml'), text);

function faultsOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toMatchObject({ code: 'config_invalid' });
    return (error as Error).message;
  }
  throw new Error('the settings were accepted');
}

describe('settings', () => {
  it('all settings have defaults', () => {
    expect(load()).toMatchObject({ dataDir, host: '127.0.0.1', port: 8080, logLevel: 'info', databaseUrl: null });
  });

  it('flags take precedence over the environment, and the environment over the file', () => {
    yaml('port: 1001\nhost: file.example\nlog_level: debug\n');
    const config = load({ SERVICE_PORT: '1002', SERVICE_HOST: 'env.example' }, { port: 1003 });
    expect([config.port, config.host, config.logLevel]).toEqual([1003, 'env.example', 'debug']);
  });

  it('Sentinels of Redis have a default port and name, and keep their password secret', () => {
    expect(load({ REDIS_URL: 'redis://h' }).redis).toMatchObject({ sentinel: null });
    yaml(`redis: {sentinels: [a.example, "10.0.0.7:7000", "[::1]:26380"], sentinel_password: ${CANARY}}`);
    const { redis } = load({ REDIS_URL: 'redis://sentinel' });
    expect(redis?.sentinel).toMatchObject({
      addresses: [
        { host: 'a.example', port: 26_379 },
        { host: '10.0.0.7', port: 7_000 },
        { host: '::1', port: 26_380 },
      ],
      ...{ primary: 'mymaster', username: null, hasTls: false },
    });
    expect(inspect(redis, { depth: null })).not.toContain(CANARY);
  });

  it.each([
    ['sentinels: [a.example]', {}, 'redis.sentinels: needs REDIS_URL'],
    [
      'sentinels: [a.example]',
      { REDIS_URL: '/run/redis.sock' },
      'redis.sentinels: cannot be used with the path of a socket',
    ],
    ['sentinels: []', { REDIS_URL: 'redis://h' }, 'redis.sentinels'],
    ['sentinels: ["a.example:99999"]', { REDIS_URL: 'redis://h' }, 'must be HOST or HOST:PORT'],
    ['sentinels: ["redis://a.example"]', { REDIS_URL: 'redis://h' }, 'must be HOST or HOST:PORT'],
    [`sentinel_password: ${CANARY}`, { REDIS_URL: 'redis://h' }, 'redis.sentinel_password: has no effect'],
  ])('the settings of Redis {%s} with %j are refused', (text, env, fault) => {
    yaml(`redis: {${text}}`);
    const faults = faultsOf(() => load(env as Record<string, string>));
    expect(faults).toContain(fault);
    expect(faults).not.toContain(CANARY);
  });

  it('settings of channels have defaults, and refuse values that could send a credential elsewhere', () => {
    const vendors = {
      sens: { baseUrl: 'https://sens.apigw.ntruss.com', timeoutMs: 10_000 },
      solapi: { baseUrl: 'https://api.solapi.com', timeoutMs: 10_000 },
      nhn: { baseUrl: 'https://kakaotalk-bizmessage.api.nhncloudservice.com', timeoutMs: 10_000 },
    };
    const platforms = {
      kakaoCallbacks: ['https://*.kakao.com'],
      slack: 'https://slack.com/api',
      line: 'https://api.line.me',
    };
    const kept = { deliveriesKeptMs: 30 * DAY_MS, keepsQuestions: false, platforms };
    expect(load().channels).toEqual({ messenger: null, vendors, replyDeadlineMs: 3500, ...kept });
    yaml('channels: {messenger: {base_url: "https://api.example.com/v1/notify"}, reply_deadline_seconds: 2}');
    expect(load().channels).toEqual({
      vendors,
      messenger: { url: 'https://api.example.com/v1/notify', authScheme: 'Bearer', timeoutMs: 10_000 },
      replyDeadlineMs: 2000,
      ...kept,
    });
    for (const url of ['ftp://a.example', 'https://user:pass@a.example', 'https://a.example/?key=1', 'nowhere']) {
      yaml(`channels: {messenger: {base_url: "${url}"}}`);
      expect(faultsOf(load)).toContain('channels.messenger.base_url: must');
      yaml(`channels: {sens: {base_url: "${url}"}}`);
      expect(faultsOf(load)).toContain('channels.sens.base_url: must');
    }
    for (const origin of ['https://*', 'ftp://a.example', 'https://a.example/path', 'https://a@b.example', '*']) {
      yaml(`channels: {kakao: {callback_origins: ["${origin}"]}, slack: {base_url: "https://slack.com/api/"}}`);
      expect(faultsOf(load)).toContain('channels.kakao.callback_origins.0: must be an origin without a path');
    }
    yaml('channels: {messenger: {auth_scheme: "Bearer x", timeout_seconds: 0, base_ulr: x}}');
    const faults = faultsOf(load);
    for (const name of ['auth_scheme', 'timeout_seconds']) expect(faults).toContain(`channels.messenger.${name}`);
    expect(faults).toContain('base_ulr');
    yaml('');
    const names = listSettings({ env: { SERVICE_DATA_DIR: dataDir } }).map(({ name }) => name);
    expect(names).toContain('channels.messenger.auth_scheme');
  });

  it('environment variables are replaced inside the file', () => {
    yaml(`cron_secret: \${CRON}\n`);
    expect(load({ CRON: 'tick-tick-tick-tick' }).cronSecret?.reveal()).toBe('tick-tick-tick-tick');
    expect(faultsOf(() => load())).toContain('CRON');
    expect(faultsOf(() => load({ CRON: 'tick' }))).toContain('must have at least 16 characters');
  });

  it('the settings are deeply frozen', () => {
    const config = load();
    expect(() => Object.assign(config.limits, { bodyBytes: 1 })).toThrow(TypeError);
  });

  it.each([
    ['a typo', 'prot: 1\n', {}, 'prot'],
    ['a wrong type', 'port: many\n', {}, 'service.yaml:1:1: port: must be a number'],
    ['a port out of range', '', { SERVICE_PORT: '70000' }, 'SERVICE_PORT'],
    ['an unknown log level', '', { SERVICE_LOG_LEVEL: 'loud' }, 'SERVICE_LOG_LEVEL'],
    ['a short secret key', '', { SERVICE_SECRET_KEY: 'short' }, 'SERVICE_SECRET_KEY'],
    ['an issuer without an audience', '', { SERVICE_OIDC_ISSUER: 'https://issuer.example' }, 'SERVICE_OIDC_AUDIENCE'],
    ['broken YAML', 'a: [\n', {}, 'not valid YAML'],
    ['a list', '- a\n', {}, 'mapping'],
    ['a missing file', '', { SERVICE_CONFIG: '/nowhere/service.yaml' }, 'SERVICE_CONFIG'],
    ['a provider without a URL', 'providers: {a: {protocol: tei}}\n', {}, 'providers.a: needs either base_url'],
    ['another protocol', 'providers: {a: {protocol: soap, base_url: "http://x"}}\n', {}, 'providers.a.protocol'],
    ['a key in a URL', 'providers: {a: {protocol: tei, base_url: "http://u:p@x"}}\n', {}, 'providers.a.base_url'],
    ['a model without an id', 'models: [{vendor: a}]\n', {}, 'models.0.id'],
    ['a budget of too few texts', 'projections: {auto: {texts_max: 10}}\n', {}, 'projections.auto.texts_max'],
    ['calibration neither on nor off', 'projections: {auto: maybe}\n', {}, 'projections.auto'],
    ['an unknown plan', 'plans: {gold: {}}\n', {}, 'plans'],
    ['a negative quota', 'plans: {free: {quotas: {embed: -1}}}\n', {}, 'plans.free.quotas.embed'],
    ['a bucket beside the embedded database', '', { ...S3, DATABASE_URL: '' }, 'needs DATABASE_URL'],
    ['a bucket without a common secret key', '', { ...S3, SERVICE_SECRET_KEY: '' }, 'SERVICE_SECRET_KEY'],
    ['a bucket without credentials', '', { ...S3, AWS_SECRET_ACCESS_KEY: '' }, 'AWS_SECRET_ACCESS_KEY'],
    ['an unknown region', '', { ...S3, S3_REGION: 'garage' }, 'S3_ENDPOINT'],
    ['an endpoint without a bucket', '', { S3_ENDPOINT: 'http://store:9000' }, 'S3_BUCKET'],
    ['credentials in the endpoint', '', { ...S3, S3_ENDPOINT: 'http://a:b@store' }, 'objects.endpoint (S3_ENDPOINT)'],
    ['an invalid name of a bucket', '', { ...S3, S3_BUCKET: 'My Bucket' }, 'objects.bucket (S3_BUCKET)'],
    ['an invalid prefix', 'objects: {prefix: ../x}\n', S3, 'objects.prefix'],
    ['an index on S3 without a bucket', 'index: {storage: s3}\n', {}, 'index.storage'],
  ])('%s is refused, and the error names the setting', (_what, file, env, word) => {
    if (file) yaml(file);
    expect(faultsOf(() => load(env))).toContain(word);
  });

  it.each([
    ['', { enabled: true, textsMax: 2_000, fromBuckets: false }],
    ['projections: {auto: off}\n', { enabled: false }],
    ['projections: {auto: false}\n', { enabled: false }],
    ['projections: {auto: on}\n', { enabled: true, textsMax: 2_000 }],
    ['projections: {auto: {texts_max: 0}}\n', { enabled: false }],
    [
      'projections: {auto: {texts_max: 800, from_buckets: true}}\n',
      { enabled: true, textsMax: 800, fromBuckets: true },
    ],
  ])('calibration by itself is set by %j', (file, expected) => {
    if (file) yaml(file);
    expect(load().projections.autoCalibration).toMatchObject(expected);
  });

  it('S3 settings default to AWS, to access keys, and to an index in the bucket', () => {
    expect(load(S3)).toMatchObject({
      objects: { bucket: 'files', endpoint: 'https://s3.us-east-1.amazonaws.com', pathStyle: false, prefix: '' },
      index: { storage: 's3' },
    });
    yaml('objects: {prefix: one/, credentials: aws}\nindex: {storage: disk}\n');
    const own = load({ ...S3, S3_ENDPOINT: 'http://store:9000/', S3_REGION: 'garage', AWS_SESSION_TOKEN: CANARY });
    expect(own).toMatchObject({
      objects: { endpoint: 'http://store:9000', region: 'garage', pathStyle: true, prefix: 'one/', credentials: null },
      index: { storage: 'disk' },
    });
    expect(load({ ...S3, S3_REGION: 'cn-north-1' }).objects?.endpoint).toBe('https://s3.cn-north-1.amazonaws.com.cn');
  });

  it('AWS credentials in the environment have no effect without a bucket', () => {
    const config = load({ AWS_ACCESS_KEY_ID: 'AKIA0', AWS_SECRET_ACCESS_KEY: CANARY, AWS_SESSION_TOKEN: CANARY });
    expect([config.objects, config.index.storage]).toEqual([null, 'disk']);
  });

  it('listed settings of providers have the form of the file, without the keys', () => {
    yaml(`providers:
  vendor-a: {protocol: openai, endpoints: [{base_url: "http://one/v1", api_key: sk-one}, {base_url: "http://two/v1/"}]}
models: [{id: my-org/m, vendor: my-org, dimensions: 8, max_tokens: 9, prefixes: e5}]
`);
    const { providers, models } = load({});
    expect(providers['vendor-a']?.endpoints).toMatchObject([
      { name: 'key-1', baseUrl: 'http://one/v1', weight: 1 },
      { name: 'key-2', baseUrl: 'http://two/v1', apiKey: null },
    ]);
    expect(models[0]?.prefixes).toMatchObject({ retrieval_document: 'passage: ', clustering: 'query: ' });
    const shown = listSettings({ env: { SERVICE_DATA_DIR: dataDir } });
    expect(shown).toContainEqual({
      name: 'providers.vendor-a.endpoints.0.api_key',
      value: '***',
      from: 'service.yaml',
    });
    expect(JSON.stringify(shown)).not.toContain('sk-one');
  });

  it('the error of invalid settings lists every fault', () => {
    const message = faultsOf(() => load({ SERVICE_PORT: 'x', SERVICE_LOG_LEVEL: 'y' }));
    expect(message).toContain('SERVICE_PORT');
    expect(message).toContain('SERVICE_LOG_LEVEL');
  });

  it('settings and their errors never show a secret', () => {
    const env = {
      ...{ DATABASE_URL: `postgres://u:${CANARY}@h/d`, SERVICE_SECRET_KEY: CANARY, SERVICE_CRON_SECRET: CANARY },
      ...{ S3_BUCKET: 'files', AWS_ACCESS_KEY_ID: CANARY, AWS_SECRET_ACCESS_KEY: CANARY, AWS_SESSION_TOKEN: CANARY },
    };
    const config = load(env);
    expect(JSON.stringify(config) + inspect(config, { depth: 9 })).not.toContain(CANARY);
    expect(JSON.stringify(listSettings({ env: { SERVICE_DATA_DIR: dataDir, ...env } }))).not.toContain(CANARY);
    expect(faultsOf(() => load({ ...env, SERVICE_PORT: 'x' }))).not.toContain(CANARY);
  });
});

describe('faults of service.yaml', () => {
  const faultsIn = (text: string, env: Record<string, string> = {}) => {
    yaml(text);
    const message = faultsOf(() => load(env));
    const [head, ...lines] = message.split('\n');
    expect(head).toBe('settings are not valid:');
    return lines.map((line) => line.replace('  - ', '').replace(`${dataDir}/service.yaml`, 'FILE'));
  };

  it('a fault tells file, line, column and path, what was found and what is allowed', () => {
    expect(faultsIn('port: 80\nlimits:\n  body_bytes: lots\n  document_seconds: 0\nlog_level: wran\n')).toEqual([
      expect.stringMatching(/^FILE:5:1: log_level: must be one of "fatal", .*; found "wran"; did you mean warn\?$/),
      'FILE:3:3: limits.body_bytes: must be a number; found a text of 4 characters',
      'FILE:4:3: limits.document_seconds: must be at least 1; found 0',
    ]);
  });

  it('an unknown setting tells the nearest known one, or those that are allowed there', () => {
    expect(faultsIn('prot: 80\nworkers:\n  embed_concurency: 2\n  zzz: 1\n')).toEqual(
      expect.arrayContaining([
        'FILE:1:1: prot: there is no such setting; did you mean port?',
        'FILE:3:3: workers.embed_concurency: there is no such setting; did you mean embed_concurrency?',
        'FILE:4:3: workers.zzz: there is no such setting; the settings here are embed_concurrency, ingest_concurrency, lease_seconds, retries_max',
      ]),
    );
    expect(faultsIn('sources: {docs: {type: foldr}}')).toEqual([
      expect.stringMatching(
        /^FILE:1:18: sources.docs.type: must be one of "folder", .*; found "foldr"; did you mean folder\?$/,
      ),
    ]);
    expect(faultsIn('sources:\n  etc:\n    type: folder\n    root: /srv/../etc\n')).toEqual([
      expect.stringMatching(/^FILE:4:5: sources.etc.root: must be below one of source_roots \(\/srv, /),
    ]);
    yaml('source_roots: [/]\nsources: {etc: {type: folder, root: /etc}}');
    expect(load().sources['etc']).toEqual({ type: 'folder', root: '/etc', organizations: ['default'] });
    expect(faultsIn('sources:\n  docs:\n    type: folder\n    rot: /x\n')).toEqual([
      'FILE:2:3: sources.docs.root: is required',
      'FILE:4:5: sources.docs.rot: there is no such setting; did you mean root?',
    ]);
  });

  it('a mailbox needs one way to log in, and encryption unless its server is on this host', () => {
    const mail = (rest: string) => faultsIn(`sources: {mail: {type: imap, user: keeper, ${rest}}}`);
    expect(mail('host: mail.example.com, security: none, password: tern')).toEqual([
      expect.stringContaining('none is allowed for a server on this host only'),
    ]);
    expect(mail('host: mail.example.com')).toEqual([expect.stringContaining('exactly one of password and oauth')]);
    expect(mail('host: m.example.com, oauth: {token_url: "http://a.example.com", client_id: a}')).toEqual([
      expect.stringContaining('must begin with https://, unless it is on this host'),
      expect.stringContaining('must have refresh_token, client_secret or both'),
    ]);
    yaml('sources: {mail: {type: imap, host: mail.example.com, user: keeper, password: "tern and eider"}}');
    expect(load().sources['mail']).toMatchObject({ imap: { port: 993, security: 'tls', user: 'keeper', ca: null } });
    expect(JSON.stringify(load().sources['mail'])).not.toContain('eider');
  });

  it('a WebDAV server needs one way to log in, and https unless it is on this host or insecure is true', () => {
    const cloud = (rest: string) => faultsIn(`sources: {cloud: {type: webdav, ${rest}}}`);
    expect(cloud('url: "http://cloud.example.com/dav", token: tern')).toEqual([
      expect.stringContaining('must begin with https://, unless insecure is true'),
    ]);
    expect(cloud('url: "https://a:b@cloud.example.com/dav", token: tern')).toEqual([
      expect.stringContaining('no credentials'),
    ]);
    expect(cloud('url: "https://cloud.example.com/dav"')).toEqual([
      expect.stringContaining('exactly one of user and token must be set'),
    ]);
    yaml('sources: {cloud: {type: webdav, url: "http://cloud.example.com", insecure: true, user: keeper}}');
    expect(load().sources['cloud']).toMatchObject({ webdav: { login: { user: 'keeper', password: null } } });
  });

  it('a fault in a list of the file tells the line of the item', () => {
    expect(faultsIn('models:\n  - id: a/b\n  - id: a/c\n    dimensions: many\n')).toEqual([
      'FILE:4:5: models.1.dimensions: must be a number; found a text of 4 characters',
    ]);
  });

  it('a fault of a variable names the variable and no line of the file', () => {
    expect(faultsIn('port: 80\n', { SERVICE_PORT: 'x' })).toEqual(['port (SERVICE_PORT): must be a number']);
  });

  it('a file that is no YAML has one fault with its place, and nothing of its text', () => {
    const [fault, ...more] = faultsIn(`providers:\n  a: {api_key: ${CANARY}\n  b: [`);
    expect(more).toEqual([]);
    expect(fault).toMatch(/^FILE:\d+:\d+: is not valid YAML \(/);
    expect(fault).not.toContain(CANARY);
    expect(faultsIn('- port: 80\n')).toEqual(['FILE:1:1: must be a mapping of settings, such as "port: 8080"']);
  });

  it('a variable that is not set is named with the place that needs it, and values of variables are never shown', () => {
    const text = `providers:\n  v:\n    protocol: \${PROTOCOL}\n    base_url: https://x.example\n    api_key: "\${KEY}"\n`;
    expect(faultsIn(text)).toEqual([
      `FILE:3:5: providers.v.protocol: \${PROTOCOL} is not set in the environment`,
      `FILE:5:5: providers.v.api_key: \${KEY} is not set in the environment`,
    ]);
    const faults = faultsIn(text, { PROTOCOL: CANARY, KEY: `${CANARY} x` });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toContain(CANARY);
  });

  it.each([
    `database_url: postgres://u:${CANARY}%@h/d`,
    `database_url: "postgres://u:${CANARY}#@h/d"`,
    `redis_url: redis://u:${CANARY}%zz@h`,
    `redis_url: redis://u:${CANARY}/@h`,
    `sources: { erp: { type: mysql, url: "mysql://u:${CANARY}%@h/d" } }`,
    `sources: { erp: { type: postgres, url: "postgres://u:${CANARY}%@h/d" } }`,
  ])('a special character in a password is explained: %s', (text) => {
    const faults = faultsIn(`${text}\n`);
    expect(faults.join()).toContain('"%" as "%25", "#" as "%23", "/" as "%2F"');
    expect(faults.join()).not.toContain(CANARY);
  });

  it('secrets that stand in the file are described by their length only', () => {
    const [fault] = faultsIn(`database_url: mysql://u:${CANARY}@h/d\n`);
    expect(fault).toMatch(
      /^FILE:1:1: database_url: must be the URL of a PostgreSQL database: .*; found a text of \d+ characters$/,
    );
  });
});

it('config check warns of a base URL that ends in the path of the operation, and shows the address it would call', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'config-'));
  const warningsOf = (protocol: string, url: string) => {
    const file = path.join(dataDir, 'service.yaml');
    writeFileSync(file, `providers:\n  v: {protocol: ${protocol}, base_url: "${url}"}\n`, { mode: 0o600 });
    return loadConfig({ env: { SERVICE_DATA_DIR: dataDir, SERVICE_CONFIG: file } }).warnings;
  };
  try {
    expect(warningsOf('openai', 'https://x.example/v1/embeddings/')).toEqual([
      'providers.v: base_url already ends in /embeddings, so calls go to https://x.example/v1/embeddings/embeddings; ' +
        'set base_url to https://x.example/v1',
    ]);
    expect(warningsOf('cohere', 'https://x.example/v2/embed')[0]).toContain('https://x.example/v2/embed/v2/embed');
    expect(warningsOf('ollama', 'https://x.example/api/embed')[0]).toContain('set base_url to https://x.example');
    expect(warningsOf('openai', 'https://x.example/v1')).toEqual([]);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
