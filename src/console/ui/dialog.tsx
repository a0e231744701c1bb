import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../lib/i18n.ts';
import { useAction } from '../lib/resource.ts';
import { Button, Form, FormEnd, IconButton, Notice, TextField } from './controls.tsx';

export interface DialogProps {
  readonly onClose: () => void;
  /** Called after the change has been stored. */
  readonly onSaved: () => void;
}

/** Fields in which the user types or chooses. */
const FIELDS = 'input:not([type=hidden]), select, textarea';

/**
 * Modal dialog. The first field gets the focus, or else the first of the closing buttons. The browser keeps the focus
 * in the dialog and restores it afterwards. Escape and the close button ask before discarding input.
 */
export function Dialog({
  title,
  onClose,
  keepsNothing,
  children,
}: {
  title: string;
  onClose?: () => void;
  /** Discard typed text without asking. */
  keepsNothing?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // The cleanup of useEffect would run after the dialog has left the page, when nothing can return the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    const first = element?.querySelector<HTMLElement>(FIELDS) ?? element?.querySelector('.form-actions button');
    if (first instanceof HTMLElement) first.focus();
    return () => element?.close();
  }, []);
  const isEdited = useRef(false);
  const [isLeaving, setIsLeaving] = useState(false);
  const leave = () => {
    if (isEdited.current) setIsLeaving(true);
    else onClose?.();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onInput={() => {
        isEdited.current = keepsNothing !== true;
      }}
    >
      <div class="dialog-body">
        <div class="dialog-title">
          <h2 id={titleId}>{title}</h2>
          {onClose && <IconButton icon="close" label={t('Close')} onClick={leave} />}
        </div>
        {isLeaving && (
          <Notice tone="warn" title={t('Drop what you have typed?')}>
            <div class="row actions">
              <Button small onClick={() => setIsLeaving(false)}>
                {t('Go on')}
              </Button>
              <Button small look="danger" onClick={() => onClose?.()}>
                {t('Drop')}
              </Button>
            </div>
          </Notice>
        )}
        {children}
      </div>
    </dialog>
  );
}

/** Question before an irreversible action. With `typed`, the user must type this text first. */
export function ConfirmDialog({
  title,
  children,
  action,
  typed,
  onConfirm,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  action: string;
  typed?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const [text, setText] = useState('');
  const confirm = useAction(onConfirm);
  const isReady = typed === undefined || text === typed;
  const submit = async () => {
    if (isReady && (await confirm.run())) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={submit}>
        <div class="stack tight">{children}</div>
        {typed !== undefined && (
          <TextField
            label={t('Type “{text}” to confirm', { text: typed })}
            value={text}
            onValue={setText}
            autocomplete="off"
          />
        )}
        <FormEnd of={confirm} submit={action} look="danger" disabled={!isReady} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
