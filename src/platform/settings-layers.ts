import { readFileSync } from 'node:fs';
import { configFileOf, dataDirOf, processEnvironment, SETTING_VARIABLES } from './environment.ts';
import { readSettingsText, type SettingsText } from './settings-faults.ts';
import { interpolate, isTree, merge, type Tree, valueAt } from './settings-tree.ts';
import { listenDefaults } from './tls-settings.ts';

export interface LoadOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Settings from the command line, with the keys of the file. */
  readonly overrides?: Tree;
  /**
   * True to leave out providers with missing variables, for a command that may not need them. Otherwise these are
   * faults.
   */
  readonly omitsIncompleteProviders?: boolean;
}

export type SettingSource = 'default' | 'service.yaml' | 'environment' | 'command line';

/** Settings of each source, separate and merged. Later layers take precedence. */
export interface SettingsLayers {
  readonly tree: Tree;
  readonly layers: readonly (readonly [SettingSource, Tree])[];
  /** Faults found before validation. */
  readonly faults: string[];
  /** Messages about providers that were left out. */
  readonly omissions: readonly string[];
  /** Path of service.yaml, which may be missing. */
  readonly file: string;
  readonly text: SettingsText | null;
}

/** Collect the settings: `service.yaml`, then the environment, then the command line. */
export function collectSettings(options: LoadOptions): SettingsLayers {
  const env = options.env ?? processEnvironment();
  const faults: string[] = [];
  const fromEnvironment = readEnvironment(env);
  const overrides = options.overrides ?? {};
  const dataDir = String(overrides['data_dir'] ?? dataDirOf(env));
  const file = configFileOf(env, dataDir);
  const { tree: fromFile, text, omissions } = readConfigFile(env, file, faults, options);
  return {
    file,
    text,
    faults,
    omissions,
    tree: merge(
      { data_dir: dataDir },
      listenDefaults(merge(fromFile, overrides)),
      fromFile,
      fromEnvironment,
      overrides,
    ),
    layers: [
      ['service.yaml', fromFile],
      ['environment', fromEnvironment],
      ['command line', overrides],
    ],
  };
}

/** Return the source of the effective value. */
export function sourceOf({ layers }: Pick<SettingsLayers, 'layers'>, keys: readonly string[]): SettingSource {
  return layers.findLast(([, tree]) => valueAt(tree, keys) !== undefined)?.[0] ?? 'default';
}

/**
 * Return true if a setting comes from service.yaml: it has a value there that no variable or flag replaces, or it is
 * missing but its parent is in the file.
 */
export function isSetInFile({ layers, text }: SettingsLayers, keys: readonly string[]): boolean {
  if (text === null) return false;
  for (let depth = keys.length; depth > 0; depth--) {
    const source = sourceOf({ layers }, keys.slice(0, depth));
    if (source !== 'default') return source === 'service.yaml';
  }
  return false;
}

function readEnvironment(env: NodeJS.ProcessEnv): Tree {
  const tree: Tree = {};
  for (const [name, keys] of Object.entries(SETTING_VARIABLES)) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    let node = tree;
    for (const key of keys.slice(0, -1)) {
      node[key] ??= {};
      node = node[key] as Tree;
    }
    node[keys.at(-1) as string] = value;
  }
  return tree;
}

function readConfigFile(
  env: NodeJS.ProcessEnv,
  file: string,
  faults: string[],
  { omitsIncompleteProviders = false }: LoadOptions,
): { readonly tree: Tree; readonly text: SettingsText | null; readonly omissions: readonly string[] } {
  const omissions: string[] = [];
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (env['SERVICE_CONFIG'] || code !== 'ENOENT') faults.push(`SERVICE_CONFIG: cannot read ${file} (${code})`);
    return { tree: {}, text: null, omissions };
  }
  const before = faults.length;
  const text = readSettingsText(file, content, faults);
  if (faults.length > before) return { tree: {}, text, omissions };
  const tree: unknown = text.document.toJS();
  if (tree === null || tree === undefined) return { tree: {}, text, omissions };
  if (!isTree(tree)) {
    faults.push(`${file}:1:1: must be a mapping of settings, such as "port: 8080"`);
    return { tree: {}, text, omissions };
  }
  const omitted = new Set<string>();
  const missing = (name: string, keys: readonly string[]) => {
    const [section, provider] = keys;
    if (!omitsIncompleteProviders || section !== 'providers' || provider === undefined) {
      faults.push(`${text.placeOf(keys)}: \${${name}} is not set in the environment`);
      return;
    }
    omitted.add(provider);
    omissions.push(`the provider ${provider} is not used here, because ${name} is not set in the environment`);
  };
  const complete = interpolate(tree, env, missing) as Tree;
  const providers = complete['providers'];
  if (isTree(providers)) for (const provider of omitted) delete providers[provider];
  return { tree: complete, text, omissions };
}
