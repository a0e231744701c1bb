/**
 * Main module of a process that receives its code with types stripped, as a line of JSON on stdin: URLs of modules and
 * their sources. The rest of stdin is left to the module. Arguments: the argument for the module to run, and its URL.
 * This file is JavaScript, because a single TypeScript file would make Node load the type stripper.
 */
import { registerHooks } from 'node:module';

const sources = new Map(JSON.parse(await readLine()));
registerHooks({
  load(url, context, next) {
    const source = sources.get(url);
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
  },
});
await import(process.argv[3]);

function readLine() {
  const { stdin } = process;
  const { promise, resolve } = Promise.withResolvers();
  const parts = [];
  const take = () => {
    for (let chunk = stdin.read(); chunk !== null; chunk = stdin.read()) {
      const end = chunk.indexOf(10);
      parts.push(end === -1 ? chunk : chunk.subarray(0, end));
      if (end === -1) continue;
      stdin.off('readable', take);
      if (end + 1 < chunk.length) stdin.unshift(chunk.subarray(end + 1));
      resolve(Buffer.concat(parts).toString());
      return;
    }
  };
  stdin.on('readable', take);
  return promise;
}
