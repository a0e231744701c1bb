/** Render a request that works when it is pasted into a shell. It reads the key from its file, so no key is shown. */
export function firstRequest(url: string, keyFile: string): string {
  return [
    `curl ${url}/v1/embeddings`,
    `-H "Authorization: Bearer $(cat ${shellQuote(keyFile)})"`,
    `-H 'Content-Type: application/json'`,
    `-d '{"input":"Hello"}'`,
  ].join(' ');
}

function shellQuote(word: string): string {
  return /^[A-Za-z0-9_/.:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
