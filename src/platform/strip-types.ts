/**
 * Print the modules of the folder given as argument with types stripped: JSON of URLs and sources for
 * `run-stripped.mjs`. This is a separate process (see stripped-sources.ts), because loading the type stripper takes as
 * long as stripping.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder = ''] = process.argv.slice(2);
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const modules = names.map((name) => {
  const file = path.join(folder, name);
  return [pathToFileURL(file).href, stripTypeScriptTypes(readFileSync(file, 'utf8'))];
});
process.stdout.write(JSON.stringify(modules));
