import type { Command } from '@oclif/core';
import { CommandHelp, Help } from '@oclif/core/help';

type Flags = readonly Command.Flag.Any[];

/** Help for one command. It shows the summary once, and environment variables in a separate section. */
class HelpOfCommand extends CommandHelp {
  protected override description(): string | undefined {
    // The first line is the summary, which is printed above.
    const rest = (this.command.description ?? '').split('\n').slice(1).join('\n');
    return rest === '' ? undefined : this.wrap(rest);
  }

  protected override flags(flags: Command.Flag.Any[]): [string, string | undefined][] | undefined {
    return super.flags(flags.map(({ env: _variable, ...flag }) => flag as Command.Flag.Any));
  }

  protected override sections() {
    const sections = super.sections();
    const after = sections.findIndex(({ header }) => header === 'DESCRIPTION') + 1;
    const generate = ({ flags }: { readonly flags: Flags }) => this.#environment(flags);
    return sections.toSpliced(after, 0, { header: 'ENVIRONMENT', generate });
  }

  #environment(flags: Flags): string | undefined {
    const names = flags.flatMap(({ name, env }) => (env === undefined ? [] : [describe(name, env)]));
    if (names.length === 0) return undefined;
    return this.wrap(`If you leave out a flag, the command uses its environment variable: ${names.join(', ')}.`);
  }
}

/** Describe a flag's environment variable. Add the flag if the names differ. */
function describe(flag: string, variable: string): string {
  return variable === `SERVICE_${flag.toUpperCase().replaceAll('-', '_')}` ? variable : `${variable} (--${flag})`;
}

/** Help class that oclif loads by its name in package.json. */
export default class ProgramHelp extends Help {
  protected override CommandHelpClass = HelpOfCommand;
}
