/** API request to show as code. */
export interface ShownRequest {
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Render the request as a command. The key comes from the environment. */
export function asCurl({ url, body }: ShownRequest): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return `curl -sS '${url}' \\
  -H "Authorization: Bearer $SERVICE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json}'`;
}

export function asPython({ url, body }: ShownRequest): string {
  return `import json
import os
import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps(${asPythonValue(body, '    ')}).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['SERVICE_API_KEY']}",
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as response:
    for result in json.load(response)["results"]:
        print(result["score"], result["citation"]["file_name"], result["text"])`;
}

export function asTypeScript({ url, body }: ShownRequest): string {
  const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ');
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.SERVICE_API_KEY}\`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${json}),
});
if (!response.ok) throw new Error(await response.text());
const { results } = await response.json();
for (const { score, citation, text } of results) console.log(score, citation.file_name, text);`;
}

/** Render a Python literal, which differs from JSON only in the names of constants. */
function asPythonValue(value: unknown, indent: string): string {
  const inner = `${indent}    `;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map((each) => asPythonValue(each, inner)).join(', ')}]`;
  if (typeof value === 'object') {
    const lines = Object.entries(value).map(
      ([key, each]) => `${inner}${JSON.stringify(key)}: ${asPythonValue(each, inner)},`,
    );
    return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${indent}}`;
  }
  return JSON.stringify(value);
}
