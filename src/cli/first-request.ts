/** Render a request to paste into a shell. It reads the key from its file, so that the key isn't shown. */
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
