#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `service-mcp: needs Node.js 22.18 or newer, this is ${process.version}; bin/service-mcp picks the right one`,
  );
  process.exit(1);
}
module.enableCompileCache();
const { runToolServerCommand } = await import('../src/mcp/command-line.ts');
process.exitCode = await runToolServerCommand(
  process.argv.slice(2),
  fileURLToPath(new URL('service-mcp', import.meta.url)),
);
