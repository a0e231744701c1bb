import { existsSync, readFileSync } from 'node:fs';
import type { Command, Interfaces } from '@oclif/core';

/** Part of oclif.manifest.json used by the help. */
interface Manifest {
  readonly version: string;
  readonly commands: Readonly<Record<string, Command.Cached>>;
}

/** package.json of the project. */
export type Project = Interfaces.PJSON & { readonly name: string; readonly version: string };

interface Topic {
  readonly name: string;
  readonly description?: string | undefined;
}

/** Return true if the command line asks for help, by the rules of oclif. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.length === 0 || (end === -1 ? argv : argv.slice(0, end)).includes('--help');
}

/**
 * Show help from the manifests with oclif's help classes, without loading plugins and commands, which would take three
 * times as long. The output equals oclif's; a test compares them.
 *
 * @returns false if the manifests lack the requested command, so that oclif has to search the sources
 */
export async function showHelp(root: URL, pjson: Project, argv: readonly string[]): Promise<boolean> {
  const read = (file: string) => JSON.parse(readFileSync(new URL(file, root), 'utf8'));
  if (!existsSync(new URL('oclif.manifest.json', root))) return false;
  const own: Manifest = read('oclif.manifest.json');
  if (own.version !== pjson.version) return false;
  const pluginFiles: string[] = (pjson.oclif.plugins ?? []).map(
    (name: string) => `node_modules/${name}/oclif.manifest.json`,
  );
  // In another project's node_modules, they are elsewhere.
  if (!pluginFiles.every((file) => existsSync(new URL(file, root)))) return false;
  const plugins: Manifest[] = pluginFiles.map(read);
  const commands = [own, ...plugins].flatMap((manifest) => Object.values(manifest.commands));
  const words = argv.filter((arg) => !arg.startsWith('-'));
  if (words.length > 0 && !isKnown(commands, words)) return false;
  const { default: ProgramHelp } = await import('./help.ts');
  await new ProgramHelp(configOf(pjson, commands), {}).showHelp([...argv]);
  return true;
}

function isKnown(commands: readonly Command.Cached[], words: readonly string[]): boolean {
  const ids = words.map((_, at) => words.slice(0, at + 1).join(':'));
  const isCommand = commands.some(({ id }) => ids.includes(id));
  return isCommand || (words.length === 1 && commands.some(({ id }) => id.startsWith(`${words[0]}:`)));
}

/** Build the part of oclif's `Config` that its help classes use. */
function configOf(pjson: Project, commands: readonly Command.Cached[]): Interfaces.Config {
  const topics = topicsOf(pjson, commands);
  const config = {
    bin: pjson.oclif.bin,
    commands,
    pjson,
    topics,
    topicSeparator: pjson.oclif.topicSeparator ?? ':',
    commandIDs: commands.map(({ id }) => id),
    findCommand: (id: string) => commands.find((command) => command.id === id),
    findTopic: (name: string) => topics.find((topic) => topic.name === name),
    plugins: new Map(),
    platform: process.platform,
    shell: 'sh',
    name: pjson.name,
    version: pjson.version,
    userAgent: `${pjson.name}/${pjson.version} ${process.platform}-${process.arch} node-${process.version}`,
  };
  return config as unknown as Interfaces.Config;
}

/** List the topics of package.json, and topics that appear only in command names. */
function topicsOf(pjson: Interfaces.PJSON, commands: readonly Command.Cached[]): Topic[] {
  const topics = new Map<string, Topic>();
  for (const [name, topic] of Object.entries(pjson.oclif.topics ?? {})) {
    topics.set(name, { name, description: topic.description });
  }
  for (const { id, summary, description, hidden } of commands) {
    if (hidden) continue;
    const parts = id.split(':');
    for (let length = parts.length; length > 0; length--) {
      const name = parts.slice(0, length).join(':');
      if (!topics.has(name)) topics.set(name, { name, description: summary ?? description });
    }
  }
  return [...topics.values()];
}
