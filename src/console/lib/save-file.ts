/** Let the user save a text as a file. */
export function saveFile(name: string, text: string): void {
  // Spreadsheet programs only recognise UTF-8 by a byte order mark.
  const address = URL.createObjectURL(new Blob(['\uFEFF', text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
