import { openDecoder } from './encoding/open-decoder.ts';

/** Elements whose content isn't markup. */
const RAW = /^(?:script|style|title|textarea|xmp|iframe|noembed|noframes)$/;
const ATTRIBUTE = /([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g;
const TAG_CHARS_MAX = 2_048;

/**
 * Find the charset that an HTML page declares: in its XML declaration, or in the first `<meta>` with a known charset
 * that is not inside a comment or script. The standard checks the first 1,024 bytes and then a `<meta>` anywhere, so
 * this checks everything in one pass.
 */
export function charsetOfHtml(bytes: Uint8Array): string | null {
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const declaration = /^\s*<\?xml\s[^>]{0,256}?encoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(page.slice(0, 512))?.[1];
  if (declaration !== undefined && openDecoder(declaration) !== null) return declaration;
  const tags = /<(!--|[a-z]+)/gi;
  for (let tag = tags.exec(page); tag !== null; tag = tags.exec(page)) {
    const name = (tag[1] as string).toLowerCase();
    if (name === '!--' || RAW.test(name)) {
      const end = name === '!--' ? page.indexOf('-->', tag.index + 2) : endTag(page, name, tags.lastIndex);
      if (end < 0) return null;
      tags.lastIndex = end;
    } else if (name === 'meta') {
      const label = charsetOfMeta(page.slice(tag.index, tag.index + TAG_CHARS_MAX));
      if (label !== null && openDecoder(label) !== null) return label;
    }
  }
  return null;
}

function endTag(page: string, name: string, from: number): number {
  const end = new RegExp(`</${name}`, 'gi');
  end.lastIndex = from;
  return end.exec(page)?.index ?? -1;
}

function charsetOfMeta(tag: string): string | null {
  const attributes = new Map<string, string>();
  const end = /^<meta(?:[^"'>]|"[^"]*"|'[^']*')*>/i.exec(tag)?.[0] ?? '';
  for (const [, name = '', ...values] of end.matchAll(ATTRIBUTE))
    attributes.set(name.toLowerCase(), values.find((value) => value !== undefined) ?? '');
  const charset = attributes.get('charset');
  if (charset !== undefined) return charset.trim();
  if (attributes.get('http-equiv')?.toLowerCase() !== 'content-type') return null;
  return /charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(attributes.get('content') ?? '')?.[1] ?? null;
}
