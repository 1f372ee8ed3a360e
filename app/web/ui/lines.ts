/* Objects of the API as people type them: a line for each value, NAME = VALUE,
 * with dots in the names of nested values. */
type Values = Record<string, unknown>;

function valueOf(text: string) {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

/* The object that lines represent. A label is a string, even if it looks like a
   number. */
export function fromLines(text: string, isText: boolean) {
  const all: Values = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf('='), name = line.slice(0, at).trim();
    if (line.trim() === '') continue;
    if (at < 1) throw new Error(
      `"${line.trim()}" should be a name, = and a value`);
    const value = line.slice(at + 1).trim();
    const path = isText ? [name] : name.split('.');
    let within = all;
    for (const part of path.slice(0, -1))
      within = (within[part] ??= {}) as Values;
    within[path[path.length - 1]] = isText ? value : valueOf(value);
  }
  return all;
}

export function toLines(all: Values, before = ''): string {
  return Object.entries(all).map(([name, value]) =>
    value !== null && typeof value === 'object'
      ? toLines(value as Values, `${before}${name}.`)
      : `${before}${name} = ${value}`).join('\n');
}
