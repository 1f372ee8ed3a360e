/*
 * The page as one file: its data stands in it, and the server, if it was not
 * saved, serves other formats of it.
 */
import { local, matcher, packageColor, percent, quantity, shorten }
  from './text.js';
import { NARROW_PX, Tree } from './model.js';
import { bottomUp, callees, callers } from './sandwich.js';
import { beginTheme, isDark, turnTheme } from './theme.js';
import { openPage } from './page.js';

/* Where the server serves this page; a saved file, and a copy on another
 * server, has no other formats to link to. */
const SERVED = /\/profiling\/(.+\/flamegraph|merge|diff)$/;
const isServed = () => /^https?:$/.test(location.protocol) &&
  SERVED.test(location.pathname);

function readData() {
  try {
    return JSON.parse(document.getElementById('data').textContent);
  } catch (e) {
    return null;
  }
}

const button = document.getElementById('theme');
button.addEventListener('click', turnTheme);
document.addEventListener('stoker-theme', () =>
  button.setAttribute('aria-pressed', isDark()));
beginTheme();
/* For those who look at a profile from the console of a browser. */
globalThis.stoker = { local, matcher, packageColor, percent, quantity,
  shorten, NARROW_PX, Tree, bottomUp, callees, callers,
  ...openPage(readData(), isServed() ? location.href : '') };
/* From the start of navigation until the first picture is handed over. */
document.body.dataset.paintMs = performance.now().toFixed(1);
