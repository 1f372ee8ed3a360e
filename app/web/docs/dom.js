/* Makes elements without parsing markup: texts stay texts, whatever they
 * contain. */
export function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    e.setAttribute(key, value);
  e.append(...children);
  return e;
}

export const link = (href, text) => element('a', { href }, text);
