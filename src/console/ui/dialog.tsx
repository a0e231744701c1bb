import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../lib/i18n.ts';
import { useAction } from '../lib/resource.ts';
import { ActionError, Button, Form, IconButton, TextField } from './controls.tsx';

/** Modal dialog. The browser keeps the focus in it and gives it back afterwards. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose?: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // The cleanup of useEffect would run after the dialog has left the page, when nothing can return the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <div class="dialog-body">
        <div class="dialog-title">
          <h2 id={titleId}>{title}</h2>
          {onClose && <IconButton icon="close" label={t('Close')} onClick={onClose} />}
        </div>
        {children}
      </div>
    </dialog>
  );
}

/** Question before an irreversible action. With `typed`, the person must type this text first. */
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
        <ActionError error={confirm.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="danger" isBusy={confirm.isRunning} disabled={!isReady}>
            {action}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
