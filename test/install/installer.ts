import { expect } from 'vitest';
import type { CleanRoot, Ran } from './clean-root.ts';

/** All files but caches, locks, notes of mount, and the copies and locks that useradd makes of the lists of users. */
const LIST = `find /etc /usr /opt /var /home /root /srv /run \\( -path /var/cache -o -path /run/lock -o -path /run/mount -o -path '/etc/*-' -o -path '/etc/passwd.*' -o -path '/etc/group.*' -o -path '/etc/*shadow.*' \\) \
  -prune -o -printf '%p %y %m %l\\n' | sort`;

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

  /** List all files but caches and locks. */
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

  /** List the steps of an installer by what `--print` tells. */
  async stepsOf(command: string): Promise<string[]> {
    const printed = await this.succeed(`${command} --print`);
    return [...printed.matchAll(/^==> (.*)$/gm)].map(([, step]) => step as string);
  }

  /**
   * End an installer and all commands that it runs while it does a step. The installer may have come further by then.
   *
   * @param afterMs time after the step was announced
   * @returns false if the installer ended without the step
   */
  async endAt(command: string, step: string, signal: EndSignal, afterMs: number): Promise<boolean> {
    // The installer is a group of its own, so that the commands that it runs are ended, too.
    const script = `rm -f /tmp/out; mkfifo /tmp/out; setsid ${command} >/tmp/out 2>&1 & pid=$!
      while read -r line; do case $line in '==> ${step}'*) sleep ${afterMs / 1000}; kill -${signal} -$pid; echo ended; cat >/tmp/rest; break ;; esac; done </tmp/out
      wait $pid; true`;
    return (await this.succeed(script)) === 'ended\n';
  }
}
