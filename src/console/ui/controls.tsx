import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { ApiError } from '../lib/api.ts';
import { t } from '../lib/i18n.ts';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'icon' | 'size'> {
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger';
  readonly small?: boolean;
  readonly icon?: IconName;
  /** True while an operation is in progress: the button keeps the focus but does nothing. */
  readonly isBusy?: boolean;
}

export function Button({
  look = 'plain',
  small,
  icon,
  isBusy,
  children,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  const classes = ['button', look, ...(small ? ['small'] : [])].join(' ');
  return (
    <button
      {...rest}
      type={type}
      class={classes}
      aria-disabled={isBusy || undefined}
      onClick={isBusy ? undefined : onClick}
    >
      {icon && <Icon name={icon} size={small ? 15 : 17} />}
      {children}
    </button>
  );
}

export function IconButton({
  icon,
  label,
  ...rest
}: Omit<ButtonProps, 'children'> & { icon: IconName; label: string }) {
  return (
    <button type="button" {...(rest as object)} class="button quiet icon-only" aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly fault?: string | null | undefined;
}

/** Attributes that associate a control with its label, hint and fault. */
interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
}

/** Label, control, hint and fault of one value of a form. */
export function Field({
  label,
  hint,
  fault,
  children,
}: FieldProps & { children: (props: ControlProps) => ComponentChildren }) {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': fault ? true : undefined })}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {fault && (
        <span class="fault" id={`${id}-fault`}>
          {fault}
        </span>
      )}
    </div>
  );
}

interface InputAttributes {
  readonly type?: 'text' | 'password' | 'search' | 'email' | 'number';
  readonly autocomplete?: 'off' | 'username' | 'current-password' | 'new-password';
  readonly minLength?: number;
  readonly autocapitalize?: 'none';
  readonly spellcheck?: boolean;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly min?: number;
  readonly max?: number;
  readonly placeholder?: string;
}

export function TextField({
  label,
  hint,
  fault,
  value,
  onValue,
  ...rest
}: FieldProps & InputAttributes & { value: string; onValue: (value: string) => void }) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(control) => (
        <input
          class="input"
          {...(rest as object)}
          {...control}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

export function SelectField({
  label,
  hint,
  fault,
  value,
  options,
  onValue,
}: FieldProps & { value: string; options: readonly Option[]; onValue: (value: string) => void }) {
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(control) => (
        <select class="input" {...control} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  label,
  isOn,
  onToggle,
  disabled,
}: {
  label: ComponentChildren;
  isOn: boolean;
  onToggle: (on: boolean) => void;
  disabled?: boolean;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        disabled={disabled ?? false}
        onChange={(event) => onToggle(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

/** Form that calls `onSubmit` without leaving the page. */
export function Form({
  onSubmit,
  children,
  ...rest
}: {
  onSubmit: () => void;
  children: ComponentChildren;
  class?: string;
  'aria-label'?: string;
}) {
  return (
    <form
      class="stack"
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

export type Tone = 'good' | 'info' | 'warn' | 'bad' | 'neutral';

export function Badge({
  tone = 'neutral',
  children,
  isActive,
  plain,
}: {
  tone?: Tone;
  children: ComponentChildren;
  isActive?: boolean;
  plain?: boolean;
}) {
  return <span class={`badge ${tone}${isActive ? ' active' : ''}${plain ? ' plain' : ''}`}>{children}</span>;
}

export function Notice({
  tone = 'info',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children?: ComponentChildren;
}) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {title && <strong>{title}</strong>}
      {children}
    </div>
  );
}

/** Warnings of an API response. */
export function Warnings({ of }: { of: readonly string[] | undefined }) {
  if (of === undefined || of.length === 0) return null;
  return (
    <Notice tone="warn" title={t('Please note')}>
      <ul class="stack tight">
        {of.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </Notice>
  );
}

/** Refusal of a user action. */
export function ActionError({ error }: { error: ApiError | null }) {
  if (error === null) return null;
  return (
    <Notice tone="bad" title={titleOf(error)}>
      <span>
        {error.code === 'unreachable' ? t('Check that the service is running; then try again.') : error.message}
      </span>
      {error.retryAfterSeconds !== null && (
        <span>{t('Try again in {seconds} s.', { seconds: error.retryAfterSeconds })}</span>
      )}
    </Notice>
  );
}

/** End of a form: the refusal of its action, and the buttons that leave and submit it. */
export function FormEnd({
  of,
  submit,
  look = 'primary',
  disabled,
  leave = t('Cancel'),
  onLeave,
}: {
  of: { readonly error: ApiError | null; readonly isRunning: boolean };
  submit: ComponentChildren;
  look?: 'primary' | 'danger';
  disabled?: boolean;
  leave?: string;
  onLeave: () => void;
}) {
  return (
    <>
      <ActionError error={of.error} />
      <div class="form-actions">
        <Button onClick={onLeave}>{leave}</Button>
        <Button type="submit" look={look} isBusy={of.isRunning} disabled={disabled}>
          {submit}
        </Button>
      </div>
    </>
  );
}

export function titleOf({ status, code }: ApiError): string {
  if (code === 'unreachable') return t('The service cannot be reached');
  if (code === 'page_file') return t('The service answers, but not with this page');
  if (status === 404) return t('This does not exist, or not any more');
  if (status === 403) return t('You may not do this');
  if (status === 409) return t('This is not possible now');
  if (status === 413) return t('This is too large');
  if (status === 429) return t('Too many requests');
  if (status >= 500) return t('The service failed');
  return t('The service refused this');
}
