import { expect } from 'vitest';
import { until } from '../support/until.ts';
import type { CleanRoot, Ran } from './clean-root.ts';

const MINUTES = 60_000;

/**
 * Paths that are not compared: caches, locks, notes of mount, copies and locks that useradd makes of the lists of users,
 * and what is inside of folders where a running server writes at any time.
 */
const NOT_COMPARED = [
  ...['/var/cache', '/run/lock', '/run/mount'],
  ...['/etc/*-', '/etc/passwd.*', '/etc/group.*', '/etc/*shadow.*'],
  ...['/var/lib/service/*', '/var/lib/postgresql/*', '/var/lib/redis/*', '/run/postgresql/*', '/run/redis/*'],
];
const LIST = `find /etc /usr /opt /var /home /root /srv /run \\( ${NOT_COMPARED.map((path) => `-path '${path}'`).join(' -o ')} \\) \
  -prune -o -printf '%p %y %m %l\\n' | sort`;
/** Files that an installer writes, with their times. */
const LIST_INSTALLED = "find /etc /opt /usr/local -printf '%p %y %m %l %T@\\n' | sort";

/** Command line that installs a bundle of `makeReleases`. */
export function install(bundle: string, flags = ''): string {
  return `sh /shared/install.sh --bundle /shared/${bundle}.tgz ${flags}`;
}

/** Signals that end an installer: one that it handles, and one that it cannot. */
export type EndSignal = 'TERM' | 'KILL';

/** Clean Debian root in which install.sh is tried. */
export class Host {
  readonly root: CleanRoot;

  constructor(root: CleanRoot) {
    this.root = root;
  }

  run(script: string): Promise<Ran> {
    return this.root.run(script);
  }

  /** Run a script, which must end with 0. @returns its standard output */
  async succeed(script: string): Promise<string> {
    const { status, stdout, stderr } = await this.root.run(script);
    expect({ script, status, output: status === 0 ? '' : stdout + stderr }).toEqual({ script, status: 0, output: '' });
    return stdout;
  }

  /** List all files but those that may change by themselves. */
  listFiles(): Promise<string> {
    return this.succeed(LIST);
  }

  /** Check that nothing of the service is left; packages of Debian may be. */
  async expectRemoved(): Promise<void> {
    const left = (await this.listFiles())
      .split('\n')
      .filter((line) => /^\/(opt|srv|etc|run|var\/\w+)\/service[ /]|\/service-(api|worker|reaper)/.test(line));
    expect(left).toEqual([]);
    expect(await this.succeed('getent passwd service || echo none')).toBe('none\n');
  }

  /** Run an installer that must be refused with one line, and leave every file as it was. */
  async refuse(script: string, status: number, message: RegExp): Promise<void> {
    const before = await this.listFiles();
    const ran = await this.root.run(script);
    expect(ran, script).toMatchObject({ status, stderr: expect.stringMatching(message) });
    const lines = ran.stderr.split('\n').filter((line) => !/^(==> |note: |Undo what was done$|$)/.test(line));
    expect(lines, script).toEqual([expect.stringMatching(/^install\.sh: /)]);
    expect(ran.stderr).not.toContain('geheim');
    expect(await this.listFiles(), script).toBe(before);
  }

  /** Ask the installed service for a page or an answer of the API with the right of the operator. @returns its text */
  ask(path: string): Promise<string> {
    const script = `const [url, key] = process.argv.slice(1);
      const reply = await fetch(url, { headers: { authorization: "Bearer " + key } });
      if (!reply.ok) throw new Error(reply.status + " " + (await reply.text()));
      process.stdout.write(await reply.text());`;
    const node = '/opt/service/current/node_modules/.bin/node --input-type=module';
    return this.succeed(`${node} -e '${script}' http://127.0.0.1:8080${path} "$(cat /var/lib/service/admin.key)"`);
  }

  /** List the steps of an installer by what `--print` tells, which changes nothing. */
  async stepsOf(command: string): Promise<string[]> {
    const before = await this.succeed(LIST_INSTALLED);
    const printed = await this.succeed(`${command} --print`);
    expect(printed).toMatch(/^These are the steps; nothing is changed\.\n/);
    expect(await this.succeed(LIST_INSTALLED)).toBe(before);
    return stepsIn(printed);
  }

  /** Run an installer, whose steps must be those that `--print` tells. @returns its standard output */
  async succeedAsPrinted(command: string): Promise<string> {
    const printed = await this.stepsOf(command);
    const output = await this.succeed(command);
    expect(stepsIn(output)).toEqual(printed);
    return output;
  }

  /**
   * Do something while `load.ts` keeps the installed service busy: no request may fail, and no document and no job that
   * was accepted may be lost.
   *
   * @param options.mayFail true if the running release is another one, whose requests may fail; they are printed
   */
  async underLoad(work: () => Promise<void>, options: { mayFail: boolean } = { mayFail: false }): Promise<void> {
    // Its modules are those of the installed release, which the work may remove.
    await this.succeed('mkdir /load && cp /shared/load.ts /load && cp -al /opt/service/current/node_modules /load/');
    const load = '/load/node_modules/.bin/node /load/load.ts --url http://127.0.0.1:8080';
    await this.succeed(
      `${load} --key /var/lib/service/admin.key --out /load/seen.json >/load/log 2>&1 & echo $! >/load/pid`,
    );
    await until(async () => (await this.run('grep ready /load/log')).status === 0, { withinMs: 2 * MINUTES });
    await work();
    await this.succeed('kill -TERM $(cat /load/pid)');
    const seen = await until(async () => JSON.parse((await this.run('cat /load/seen.json')).stdout || 'null'), {
      ...{ what: 'the end of the load', withinMs: 12 * MINUTES, everyMs: 1_000 },
    });
    await this.succeed('rm -r /load');
    const { requests, documents, jobs, slowest_ms: slowestMs, failed, lost } = seen;
    process.stderr.write(
      `${requests} requests (slowest ${Math.round(slowestMs)} ms), ${failed.length} failed; ` +
        `${documents.length} documents and ${jobs.length} bulk jobs, ${lost.length} lost\n`,
    );
    if (options.mayFail) process.stderr.write(failed.map((fault: string) => `failed: ${fault}\n`).join(''));
    expect({ failed: options.mayFail ? [] : failed, lost }).toEqual({ failed: [], lost: [] });
    expect(documents.length).toBeGreaterThan(10);
    expect(jobs.length).toBeGreaterThan(3);
  }

  /**
   * End an installer and all commands that it runs while it does the first of several steps that it announces. The
   * installer may have come further by then.
   *
   * @param steps beginnings of their names
   * @param afterMs time after the step was announced
   * @returns the step, or null if the installer ended without any of them
   */
  async endAt(command: string, steps: readonly string[], signal: EndSignal, afterMs: number): Promise<string | null> {
    const patterns = steps.map((step) => `'==> ${step}'*`).join('|');
    // The installer is a group of its own, so that the commands that it runs are ended, too.
    const script = `rm -f /tmp/out; mkfifo /tmp/out; setsid ${command} >/tmp/out 2>&1 & pid=$!
      while read -r line; do case $line in ${patterns}) sleep ${afterMs / 1000}; kill -${signal} -$pid; echo "$line"; cat >/tmp/rest; break ;; esac; done </tmp/out
      wait $pid; true`;
    return stepsIn(await this.succeed(script))[0] ?? null;
  }
}

function stepsIn(output: string): string[] {
  return [...output.matchAll(/^==> (.*)$/gm)].map(([, step]) => step as string);
}
