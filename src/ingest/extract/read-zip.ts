import { readContentTypes, readMainPart, readRelationships } from './archive/package-parts.ts';
import { Zip } from './archive/zip.ts';
import { ExtractError } from './errors.ts';
import { refusalOf } from './format-names.ts';
import { readHwpx } from './hwp/read-hwpx.ts';
import { readDocx } from './office/read-docx.ts';
import { readEpub } from './office/read-epub.ts';
import { readOdf } from './office/read-odf.ts';
import { readPptx } from './office/read-pptx.ts';
import { readXlsx } from './office/read-xlsx.ts';
import type { Reading, ReadResult } from './reader.ts';

const MIMETYPE_BYTES_MAX = 256;
const READERS: ReadonlyArray<readonly [RegExp, (zip: Zip, mainPart: string, reading: Reading) => Promise<ReadResult>]> =
  [
    [
      /wordprocessingml\.(document|template)\.main\+xml$|ms-word\.\w+\.macroEnabled\w*\.main\+xml$|^word\/.*\.xml$/i,
      readDocx,
    ],
    [/presentationml\.\w+\.main\+xml$|ms-powerpoint\.\w+\.macroEnabled\w*\.main\+xml$|^ppt\/.*\.xml$/i, readPptx],
    [/spreadsheetml\.(sheet|template)\.main\+xml$|ms-excel\.\w+\.macroEnabled\w*\.main\+xml$|^xl\/.*\.xml$/i, readXlsx],
  ];
const ODF = /^application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)(-template|-master)?$/;

/**
 * Read the document in a zip archive. Its format is given by the entry `mimetype` or the content type of the main part.
 * @throws ExtractError `unsupported_type` if the format is not supported; errors of the document
 */
export async function readZip(bytes: Uint8Array, reading: Reading): Promise<ReadResult> {
  const zip = await Zip.open(bytes, reading.budget);
  if (zip.has('[Content_Types].xml')) return readOfficeOpenXml(zip, reading);
  const mimetype = zip.has('mimetype')
    ? (await zip.bytes('mimetype', MIMETYPE_BYTES_MAX)).toString('latin1').trim()
    : '';
  const kind = ODF.exec(mimetype)?.[1];
  if (kind === 'text') return readOdf(zip, 'odt', reading);
  if (kind === 'spreadsheet') return readOdf(zip, 'ods', reading);
  if (kind === 'presentation') return readOdf(zip, 'odp', reading);
  if (mimetype === 'application/hwp+zip') return readHwpx(zip, reading);
  if (mimetype === 'application/epub+zip' || (mimetype === '' && zip.has('META-INF/container.xml'))) {
    return zip.has('Contents/header.xml') ? readHwpx(zip, reading) : readEpub(zip, reading);
  }
  if (zip.hasEncrypted())
    throw new ExtractError(
      'encrypted',
      'the archive is protected by a password; remove the password and upload it again',
    );
  throw unsupported(zip, mimetype);
}

async function readOfficeOpenXml(zip: Zip, reading: Reading): Promise<ReadResult> {
  // Other formats are packages of the same kind, with other relationships.
  const kinds = (await readRelationships(zip, '')).map(({ type }) => type);
  if (kinds.some((kind) => OTHER_MAIN_PARTS.test(kind)) && !kinds.includes('officeDocument'))
    throw unsupported(zip, '');
  const mainPart = await readMainPart(zip);
  // If only the extension tells the type, use the conventional folder.
  const type = (await readContentTypes(zip)).get(mainPart) ?? mainPart;
  const reader = READERS.find(([pattern]) => pattern.test(type))?.[1];
  if (reader === undefined) throw unsupported(zip, type);
  return reader(zip, mainPart, reading);
}

const OTHER_MAIN_PARTS = /^(?:document|fixedrepresentation|manifest|3dmodel)$/;

/** Types and entries that identify other formats in zip archives. */
const OTHERS: ReadonlyArray<readonly [RegExp, string]> = [
  [/ms-excel\.sheet\.binary/, 'xlsb'],
  [/ms-visio|^visio\/document\.xml$/, 'vsdx'],
  [/opendocument\.graphics/, 'odg'],
  [/opendocument\.formula/, 'odf'],
  [/opendocument\.(?:base|database)/, 'odb'],
  [/opendocument\.chart/, 'odc'],
  [/^Index\/Slide/, 'key'],
  [/^Index\/(?:Tables\/|CalculationEngine)/, 'numbers'],
  [/^Index\/Document\.iwa$|^Index\.zip$/, 'iwork'],
  [/\.fdseq$/, 'xps'],
  [/^AndroidManifest\.xml$/, 'apk'],
  [/^META-INF\/MANIFEST\.MF$/, 'jar'],
];

/** Name an archive's format by its type or its entries; otherwise it is a plain archive. */
function unsupported(zip: Zip, type: string): ExtractError {
  const names = [type, ...zip.names()];
  const extension = OTHERS.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1] ?? 'zip';
  const message = refusalOf(extension) ?? 'the file is a zip archive, which is not supported';
  return new ExtractError('unsupported_type', message);
}
