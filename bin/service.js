#!/usr/bin/env node
import module from 'node:module';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `service: Node.js 22.18 or newer is required, found ${process.version}; run bin/service, which finds one`,
  );
  process.exit(1);
}
module.enableCompileCache();
const { runCommandLine } = await import('../src/cli/run-command-line.ts');
await runCommandLine(new URL('..', import.meta.url), process.argv.slice(2));
