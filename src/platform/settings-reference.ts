import { z } from 'zod';
import { ConfigFile } from './config.ts';
import { SETTING_VARIABLES } from './environment.ts';

/** Part of the JSON Schema that zod generates for service.yaml. */
interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Node | false;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

/** Setting of service.yaml, as documented in the reference. */
export interface SettingReference {
  /** Keys from the root. `<name>` stands for a name chosen by the operator, `[]` for a list item. */
  readonly path: readonly string[];
  readonly description: string;
  /** Description of the allowed values. */
  readonly allowed: string;
  /** Default as YAML; null if there is none. */
  readonly default: string | null;
  readonly variable: string | null;
  readonly isRequired: boolean;
  /** True if it contains other settings. */
  readonly isGroup: boolean;
}

/** List every setting in schema order, groups before their settings. */
export function listReference(): SettingReference[] {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', unrepresentable: 'any' }) as Node;
  return childrenOf(schema, []);
}

function childrenOf(node: Node, path: readonly string[]): SettingReference[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    // The default of the data directory depends on the user.
    describe(child, [...path, name], name !== 'data_dir' && (node.required?.includes(name) ?? false)),
  );
  const named = node.additionalProperties;
  if (named && Object.keys(named).length > 0) own.push(...describe(named, [...path, '<name>'], false));
  if (node.items?.properties) own.push(...describe(node.items, [...path, '[]'], false));
  for (const branch of [...(node.anyOf ?? []), ...(node.oneOf ?? [])]) own.push(...childrenOf(branch, path));
  return own;
}

function describe(node: Node, path: readonly string[], isRequired: boolean): SettingReference[] {
  const children = childrenOf(node, path);
  const name = path.join('.');
  const variable = Object.entries(SETTING_VARIABLES).find(([, keys]) => keys.join('.') === name)?.[0] ?? null;
  const isGroup = children.length > 0;
  const own: SettingReference = {
    path,
    variable,
    isRequired,
    isGroup,
    description: node.description ?? '',
    allowed: allowedBy(node),
    default: isGroup || node.default === undefined ? null : JSON.stringify(node.default),
  };
  return [own, ...children];
}

/** Describe the allowed values of a setting. */
function allowedBy(node: Node): string {
  if (node.const !== undefined) return String(node.const);
  if (node.enum !== undefined) return node.enum.map(String).join(', ');
  const branches = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  if (branches.length > 0) return branches.map(allowedBy).join('; or ');
  const { type, minimum, exclusiveMinimum, maximum } = node;
  if (type === 'boolean') return 'true, false';
  if (type === 'array') return node.items?.properties ? 'list' : `list of ${allowedBy(node.items ?? {})}`;
  if (type === 'object') return 'settings by name';
  if (type !== 'integer' && type !== 'number') return 'text';
  const kind = type === 'integer' ? 'integer' : 'number';
  const from = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`;
  const to = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (from === undefined && to === undefined) return kind;
  if (to === undefined) return `${kind}, ${exclusiveMinimum === undefined ? `at least ${from}` : from}`;
  return `${kind}, ${from ?? 'up'} to ${to}`;
}
