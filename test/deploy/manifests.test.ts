import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Secret, Service, ServiceAccount } from 'kubernetes-models/v1';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { SETTING_VARIABLES } from '../../src/platform/environment.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = path.join(ROOT, 'deploy', 'kubernetes');

/** Files that are no objects of the cluster. */
const OTHER_FILES = ['kustomization.yaml', 'milvus-values.yaml', 'prometheus-adapter-values.yaml'];

const KINDS = {
  'apps/v1/Deployment': Deployment,
  'autoscaling/v2/HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'networking.k8s.io/v1/NetworkPolicy': NetworkPolicy,
  'policy/v1/PodDisruptionBudget': PodDisruptionBudget,
  'v1/ConfigMap': ConfigMap,
  'v1/Secret': Secret,
  'v1/Service': Service,
  'v1/ServiceAccount': ServiceAccount,
} as const;

interface Manifest {
  readonly file: string;
  readonly name: string;
  readonly type: keyof typeof KINDS;
  // biome-ignore lint/suspicious/noExplicitAny: the schema of its kind is checked below
  readonly tree: any;
}

const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml') && !OTHER_FILES.includes(file));
const manifests: Manifest[] = files.flatMap((file) =>
  parseAllDocuments(readFileSync(path.join(FOLDER, file), 'utf8')).map((document) => {
    const tree = document.toJS();
    return { file, name: tree.metadata.name, type: `${tree.apiVersion}/${tree.kind}` as keyof typeof KINDS, tree };
  }),
);
const ofKind = (type: keyof typeof KINDS) => manifests.filter((manifest) => manifest.type === type);
const deployments = ofKind('apps/v1/Deployment');

function validate({ type, tree }: Pick<Manifest, 'type' | 'tree'>): void {
  new KINDS[type](tree).validate();
}

test.each(manifests.map((manifest) => [manifest.file, manifest.type, manifest.name, manifest] as const))(
  '%s: the schema of %s accepts %s',
  (_, __, ___, manifest) => {
    expect(KINDS).toHaveProperty([manifest.type]);
    expect(() => validate(manifest)).not.toThrow();
  },
);

test('the schemas refuse wrong types and missing fields', () => {
  const [first] = deployments as [Manifest];
  const broken = (change: (tree: Manifest['tree']) => void) => {
    const tree = structuredClone(first.tree);
    change(tree);
    return () => validate({ type: first.type, tree });
  };
  expect(
    broken((tree) => {
      tree.spec.replicas = 'two';
    }),
  ).toThrow();
  expect(
    broken((tree) => {
      delete tree.spec.selector;
    }),
  ).toThrow();
  expect(
    broken((tree) => {
      tree.spec.template.spec.containers[0].ports[0].containerPort = 'http';
    }),
  ).toThrow();
  expect(
    broken((tree) => {
      delete tree.spec.template.spec.containers[0].name;
    }),
  ).toThrow();
});

test('there are processes for the API, both workers, the reaper and the tool server', () => {
  const names = deployments.map(({ name }) => name).sort();
  expect(names).toEqual(['service-api', 'service-embed', 'service-ingest', 'service-reaper', 'service-tools']);
});

test('every process has probes, a disruption budget, bounds, and more time to stop than its drain takes', () => {
  const DRAIN_SECONDS = 25;
  for (const { name, tree } of deployments) {
    const { spec, metadata } = tree.spec.template;
    const [container] = spec.containers;
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const ports = container.ports.map((port: { name: string }) => port.name);
      expect(ports, `${name} ${probe}`).toContain(container[probe].httpGet.port);
    }
    expect(container.livenessProbe.httpGet.path).toBe('/healthz');
    expect(container.resources.requests.memory && container.resources.limits.memory).toBeTruthy();
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS + 10);
    expect(container.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
    const budgets = ofKind('policy/v1/PodDisruptionBudget').filter(({ tree: budget }) =>
      isSelected(budget.spec.selector.matchLabels, metadata.labels),
    );
    expect(budgets, name).toHaveLength(1);
    expect(isSelected(tree.spec.selector.matchLabels, metadata.labels)).toBe(true);
  }
});

function isSelected(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([label, value]) => labels[label] === value);
}

test('autoscalers scale processes that exist and have no fixed number, and workers scale by their queue', () => {
  const scalers = ofKind('autoscaling/v2/HorizontalPodAutoscaler');
  for (const { tree } of scalers) {
    const target = deployments.find(({ name }) => name === tree.spec.scaleTargetRef.name);
    expect(target?.tree.spec.replicas).toBeUndefined();
    expect(target).toBeDefined();
  }
  const adapter = parse(readFileSync(path.join(FOLDER, 'prometheus-adapter-values.yaml'), 'utf8'));
  const [rule] = adapter.rules.external;
  const queues = scalers.flatMap(({ tree }) =>
    tree.spec.metrics
      .filter((metric: { type: string }) => metric.type === 'External')
      .map(({ external }: { external: { metric: { name: string; selector: { matchLabels: { kind: string } } } } }) => [
        tree.spec.scaleTargetRef.name,
        external.metric.name,
        external.metric.selector.matchLabels.kind,
      ]),
  );
  expect(queues).toEqual([
    ['service-embed', rule.name.as, 'bulk'],
    ['service-ingest', rule.name.as, 'ingest'],
  ]);
});

test('services select a process and a port that exist', () => {
  for (const { tree } of ofKind('v1/Service')) {
    const [target] = deployments.filter(({ tree: deployment }) =>
      isSelected(tree.spec.selector, deployment.spec.template.metadata.labels),
    );
    const ports = target?.tree.spec.template.spec.containers[0].ports.map((port: { name: string }) => port.name);
    expect(ports).toContain(tree.spec.ports[0].targetPort);
  }
});

test('variables of the configuration are settings of the service, and arguments are commands of it', () => {
  const known = new Set([...Object.keys(SETTING_VARIABLES), 'SERVICE_CONFIG', 'SERVICE_DATA_DIR']);
  const [config] = ofKind('v1/ConfigMap') as [Manifest];
  const [secret] = ofKind('v1/Secret') as [Manifest];
  const names = [...Object.keys(config.tree.data), ...Object.keys(secret.tree.stringData)];
  expect(names.filter((name) => name !== 'service.yaml' && !known.has(name))).toEqual([]);
  for (const { tree } of deployments) expectCommand(tree.spec.template.spec.containers[0].args);
});

test('the values of Milvus make a cluster that asks for a password and keeps its files and its log in S3', () => {
  const text = readFileSync(path.join(FOLDER, 'milvus-values.yaml'), 'utf8');
  const { cluster, externalS3, extraConfigFiles, minio, pulsarv3, woodpecker, ...others } = parse(text);
  expect({ cluster, minio, pulsarv3, woodpecker }).toEqual({
    cluster: { enabled: true },
    minio: { enabled: false },
    pulsarv3: { enabled: false },
    woodpecker: { enabled: true },
  });
  expect(externalS3).toMatchObject({ enabled: true, useSSL: true });
  expect(externalS3).not.toHaveProperty('secretKey');
  expect(parse(extraConfigFiles['user.yaml']).common.security.authorizationEnabled).toBe(true);
  // Top-level names of the chart's own values; it has no schema.
  expect(Object.keys(others).sort()).toEqual(['etcd', 'queryNode', 'streaming', 'streamingNode']);
  for (const [name, variable] of [
    ['config.yaml', 'MILVUS_URL: http://milvus:19530'],
    ['secret.example.yaml', 'MILVUS_TOKEN: root:'],
  ] as const) {
    expect(readFileSync(path.join(FOLDER, name), 'utf8')).toContain(variable);
  }
});

test('kustomization.yaml lists every file but the example of the secret', () => {
  const { resources } = parse(readFileSync(path.join(FOLDER, 'kustomization.yaml'), 'utf8'));
  expect([...resources].sort()).toEqual(files.filter((file) => file !== 'secret.example.yaml').sort());
});

function expectCommand([program, ...args]: readonly string[]): void {
  expect(existsSync(path.join(ROOT, 'bin', program ?? ''))).toBe(true);
  if (program !== 'service') return;
  const command = args.filter((arg) => !arg.startsWith('-')).join(path.sep);
  expect(existsSync(path.join(ROOT, 'commands', `${command}.ts`)), args.join(' ')).toBe(true);
}
