/**
 * Main module of a process that gets its code without types: a line of JSON on stdin, URLs of modules and their sources. What
 * follows the line is left on stdin. Arguments: that of the module to run, and its URL. It is JavaScript, since Node would load
 * what removes types for a single file of TypeScript.
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
