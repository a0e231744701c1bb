import { entryName } from '../archive/package-parts.ts';
import { parseXml, type XmlAttributes } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';

/** File in a publication's reading order. */
export interface SpineItem {
  readonly part: string;
  readonly mediaType: string;
  /** True for the page with the table of contents. */
  readonly isContents: boolean;
}

export interface Publication {
  readonly title: string | null;
  readonly spine: SpineItem[];
  /** Archive entry of the table of contents. */
  readonly contents: string | null;
}

interface Item extends SpineItem {
  readonly isNcx: boolean;
}

/** Read an Open Packaging Format document (EPUB 3.3, chapter 5), which OWPML also uses. */
export async function readPackage(zip: Zip, part: string): Promise<Publication> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const items = new Map<string, Item>();
  const spine: SpineItem[] = [];
  let title: string[] | null = null;
  let isTitle = false;
  await parseXml(zip.stream(part), {
    open(name, attributes) {
      if (name === 'dc:title' && title === null) {
        title = [];
        isTitle = true;
      } else if (name === 'opf:item') {
        items.set(attributes['id'] ?? '', itemOf(folder, attributes));
      } else if (name === 'opf:itemref') {
        const item = items.get(attributes['idref'] ?? '');
        if (item !== undefined) spine.push(item);
      }
    },
    close(name) {
      if (name === 'dc:title') isTitle = false;
    },
    text(text) {
      if (isTitle) title?.push(text);
    },
  });
  const listed = [...items.values()];
  const contents = listed.find(({ isContents }) => isContents) ?? listed.find(({ isNcx }) => isNcx);
  const titleText = ((title as string[] | null) ?? []).join('').replace(/\s+/g, ' ').trim();
  return { title: titleText === '' ? null : titleText, spine, contents: contents?.part ?? null };
}

function itemOf(folder: string, attributes: XmlAttributes): Item {
  const mediaType = attributes['media-type'] ?? '';
  return {
    part: entryName(folder, attributes['href'] ?? ''),
    mediaType,
    isContents: /(^|\s)nav(\s|$)/.test(attributes['properties'] ?? ''),
    isNcx: mediaType === 'application/x-dtbncx+xml',
  };
}
