import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { replaceQuery } from '../../lib/router.ts';
import type { BucketContents } from '../../types.ts';
import { Panel } from '../../ui/page.tsx';

interface FolderTreeProps {
  readonly bucket: string;
  readonly folders: BucketContents['folders'];
  /** Path of the selected folder; empty for all documents. */
  readonly chosen: string;
}

/** Tree of the source paths of a bucket. Each folder loads when it is opened. */
export function FolderTree({ bucket, folders, chosen }: FolderTreeProps) {
  return (
    <Panel title={t('Folders')} padded>
      <div class="folder-tree">
        <FolderButton path="" name={t('All documents')} isChosen={chosen === ''} />
        <FolderList bucket={bucket} parent="" folders={folders} chosen={chosen} />
      </div>
    </Panel>
  );
}

interface FolderListProps extends FolderTreeProps {
  readonly parent: string;
}

function FolderList({ bucket, parent, folders, chosen }: FolderListProps) {
  return (
    <ul>
      {folders.map((folder) => (
        <Folder
          key={folder.name}
          bucket={bucket}
          path={parent === '' ? folder.name : `${parent}/${folder.name}`}
          folder={folder}
          chosen={chosen}
        />
      ))}
    </ul>
  );
}

interface FolderProps {
  readonly bucket: string;
  readonly path: string;
  readonly folder: BucketContents['folders'][number];
  readonly chosen: string;
}

function Folder({ bucket, path, folder, chosen }: FolderProps) {
  const [isOpen, setIsOpen] = useState(chosen.startsWith(`${path}/`));
  const contents = useResource(isOpen ? `folders ${bucket} ${path}` : null, (signal) =>
    call<BucketContents>(pathOf('v1', 'buckets', bucket, 'contents'), { query: { folder: path }, signal }),
  );
  return (
    <li>
      <div class="folder-row">
        <button
          type="button"
          class="folder-toggle"
          aria-expanded={isOpen}
          aria-label={t('Folders in {name}', { name: path })}
          onClick={() => setIsOpen(!isOpen)}
        >
          <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
        </button>
        <FolderButton path={path} name={folder.name} isChosen={chosen === path} documents={folder.documents} />
      </div>
      {isOpen && contents.data !== null && (
        <FolderList bucket={bucket} parent={path} folders={contents.data.folders} chosen={chosen} />
      )}
    </li>
  );
}

interface FolderButtonProps {
  readonly path: string;
  readonly name: string;
  readonly isChosen: boolean;
  readonly documents?: number;
}

function FolderButton({ path, name, isChosen, documents }: FolderButtonProps) {
  return (
    <button
      type="button"
      class="folder-name"
      aria-current={isChosen ? 'true' : undefined}
      onClick={() => replaceQuery({ folder: path })}
    >
      {name}
      {documents !== undefined && <span class="faint number"> {formatNumber(documents)}</span>}
    </button>
  );
}
