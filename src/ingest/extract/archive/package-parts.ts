import { ExtractError } from '../errors.ts';
import { parseXml } from './xml.ts';
import type { Zip } from './zip.ts';

/** Relationship of an Open Packaging Conventions part (ISO/IEC 29500-2). */
export interface Relationship {
  readonly id: string;
  /** Last segment of the type's URI, such as `slide` or `notesSlide`. */
  readonly type: string;
  readonly target: string;
}

/** Read the content types that the archive lists for individual parts, by entry name. */
export async function readContentTypes(zip: Zip): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  await parseXml(zip.stream('[Content_Types].xml'), {
    open(name, attributes) {
      const part = attributes['PartName'];
      if (name === 'ct:Override' && part !== undefined)
        types.set(part.replace(/^\//, ''), attributes['ContentType'] ?? '');
    },
  });
  return types;
}

/** Read the relationships of a part to other parts of the archive, in file order; `''` stands for the package. */
export async function readRelationships(zip: Zip, part: string): Promise<Relationship[]> {
  const slash = part.lastIndexOf('/') + 1;
  const folder = part.slice(0, slash);
  const name = `${folder}_rels/${part.slice(slash)}.rels`;
  const found: Relationship[] = [];
  if (!zip.has(name)) return found;
  await parseXml(zip.stream(name), {
    open(element, attributes) {
      const { Id: id, Type: type, Target: target } = attributes;
      if (element !== 'rel:Relationship' || attributes['TargetMode'] === 'External') return;
      if (id === undefined || type === undefined || target === undefined) return;
      found.push({ id, type: type.slice(type.lastIndexOf('/') + 1), target: entryName(folder, target) });
    },
  });
  return found;
}

/**
 * Resolve a reference within `folder` to an entry name. The name is only looked up, so `..` can't escape the archive.
 */
export function entryName(folder: string, reference: string): string {
  const path = reference.replace(/[?#].*$/s, '');
  const segments = path.startsWith('/') ? [] : folder.split('/').filter((segment) => segment !== '');
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '.' && segment !== '') segments.push(segment);
  }
  const name = segments.join('/');
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // The percent sign is literal.
  }
}

/** Return the name of the package's main part. @throws ExtractError `corrupt` if there is none */
export async function readMainPart(zip: Zip): Promise<string> {
  const main = (await readRelationships(zip, '')).find(({ type }) => type === 'officeDocument');
  if (main === undefined) throw new ExtractError('corrupt', 'the office document has no main part');
  return main.target;
}
