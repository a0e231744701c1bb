import { t } from '../../lib/i18n.ts';
import { TextField } from '../../ui/controls.tsx';

interface ModelAtVendorProps {
  readonly model: string;
  readonly onModel: (model: string) => void;
  readonly tokens: string;
  readonly onTokens: (tokens: string) => void;
}

/** Fields of a vendor's model: its name there, and its token limit. */
export function ModelAtVendor({ model, onModel, tokens, onTokens }: ModelAtVendorProps) {
  return (
    <div class="form-grid">
      <TextField
        label={t('Name of a model at the vendor')}
        hint={t('A test call embeds a short text with it.')}
        required
        maxLength={136}
        spellcheck={false}
        value={model}
        onValue={onModel}
      />
      <TextField
        label={t('Tokens at most')}
        hint={t('Tokens of a text that the model accepts.')}
        type="number"
        min={1}
        max={1_000_000}
        placeholder={t('That of the model, if it is known; otherwise 512')}
        value={tokens}
        onValue={onTokens}
      />
    </div>
  );
}
