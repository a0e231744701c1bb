/** Return the value of a colour of the page, such as `--accent`, in the theme that is shown. */
export function colourOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
