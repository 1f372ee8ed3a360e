/*
 * The theme, light or dark: as chosen, or else the system's. Code that paints
 * listens for stoker-theme on the document.
 */
const system = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => document.documentElement.dataset.theme === 'dark';

/* A sandboxed page has no storage: the choice then lasts as long as the
 * page. */
function keptTheme() {
  try {
    return localStorage.getItem('stoker-theme');
  } catch (e) {
    return null;
  }
}

/** @param {boolean} dark */
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  document.dispatchEvent(new Event('stoker-theme'));
}

function turnTheme() {
  setTheme(!isDark());
  try {
    localStorage.setItem('stoker-theme', isDark() ? 'dark' : 'light');
  } catch (e) { /* see above */ }
}

function beginTheme() {
  setTheme((keptTheme() || (system.matches ? 'dark' : 'light')) === 'dark');
  system.addEventListener('change', e => {
    if (!keptTheme()) setTheme(e.matches);
  });
}

export { beginTheme, isDark, turnTheme };
