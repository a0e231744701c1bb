import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type ApiError, call } from '../../lib/api.ts';
import { type Message, t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import type { ReservedKeys } from '../../types.ts';
import { type Completion, completionsAt, wordBefore } from './completions.ts';
import { offsetOf } from './statement-fault.tsx';

const KIND_NAMES: Readonly<Record<Completion['kind'], Message>> = {
  keyword: 'keyword',
  field: 'field',
  key: 'key',
  value: 'value',
};

interface EditorProps {
  readonly statement: string;
  readonly onStatement: (statement: string) => void;
  readonly onRun: () => void;
  readonly error: ApiError | null;
}

/** Statement editor that completes keys and keywords, and jumps to the column of an error. */
export function StatementEditor({ statement, onStatement, onRun, error }: EditorProps) {
  const keys = useResource('reserved keys', (signal) => call<ReservedKeys>('/v1/metadata/reserved-keys', { signal }));
  const input = useRef<HTMLTextAreaElement>(null);
  const [list, setList] = useState<readonly Completion[]>([]);
  const [selected, setSelected] = useState(0);
  const id = useId();
  useEffect(() => {
    const offset = error === null ? null : offsetOf(error.message, input.current?.value ?? '');
    if (offset !== null && input.current) {
      input.current.focus();
      input.current.setSelectionRange(offset, offset);
    }
  }, [error]);
  const suggest = (element: HTMLTextAreaElement) => {
    setList(completionsAt(element.value, element.selectionStart, { keys: keys.data, userKeys: keysIn(element.value) }));
    setSelected(0);
  };
  // Complete the typed text once the keys have loaded.
  const isTyping = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the keys change what is suggested here
  useEffect(() => {
    if (isTyping.current && input.current) suggest(input.current);
  }, [keys.data]);
  const close = () => {
    isTyping.current = false;
    setList([]);
  };
  const accept = ({ text }: Completion) => {
    const element = input.current;
    if (!element) return;
    const end = element.selectionStart;
    const start = end - wordBefore(element.value, end).length;
    element.setRangeText(text, start, end, 'end');
    onStatement(element.value);
    close();
    element.focus();
  };
  const press = (event: KeyboardEvent) => {
    const chosen = list[selected];
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onRun();
    } else if (chosen === undefined) return;
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setSelected((selected + (event.key === 'ArrowDown' ? 1 : list.length - 1)) % list.length);
    } else if (event.key === 'Enter' || event.key === 'Tab') {
      event.preventDefault();
      accept(chosen);
    } else if (event.key === 'Escape') close();
  };
  return (
    <div class="field editor">
      <label for={id}>{t('Statement')}</label>
      <textarea
        ref={input}
        id={id}
        class="input code-input"
        rows={4}
        spellcheck={false}
        autocomplete="off"
        aria-haspopup="listbox"
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={list.length > 0 ? `${id}-${selected}` : undefined}
        aria-describedby={`${id}-hint`}
        aria-invalid={error !== null || undefined}
        value={statement}
        onInput={(event) => {
          onStatement(event.currentTarget.value);
          isTyping.current = true;
          suggest(event.currentTarget);
        }}
        onKeyDown={press}
        onBlur={close}
      />
      <Completions id={id} list={list} selected={selected} onAccept={accept} />
      <span class="hint" id={`${id}-hint`}>
        {t('Ctrl+Enter runs it. Arrow keys and Tab choose a suggestion.')}
      </span>
    </div>
  );
}

/** List the keys of user metadata that the statement already names. */
function keysIn(statement: string): string[] {
  return [
    ...new Set(
      Array.from(
        statement.matchAll(/([A-Za-z_][A-Za-z0-9_.-]*)\s*(?:=|!=|<|>|\bIN\b|\bLIKE\b|\bIS\b)/gi),
        ([, key]) => key as string,
      ),
    ),
  ];
}

function Completions({
  id,
  list,
  selected,
  onAccept,
}: {
  id: string;
  list: readonly Completion[];
  selected: number;
  onAccept: (completion: Completion) => void;
}) {
  return (
    <div class="completions" id={`${id}-list`} role="listbox" aria-label={t('Suggestions')} hidden={list.length === 0}>
      {list.map((completion, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled where the focus is, in the editor
        <div
          key={`${completion.kind} ${completion.text}`}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === selected}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onAccept(completion)}
        >
          <span>{completion.text}</span>
          <span class="faint">{t(KIND_NAMES[completion.kind])}</span>
        </div>
      ))}
    </div>
  );
}
