/*
 * The page as a single file, which contains its data. Unless the file was
 * saved, the server offers other formats.
 */
import { clock, local, matcher, originOf, packageColor, percent, quantity,
  shorten } from './text.js';
import { NARROW_PX, Tree } from './model.js';
import { bottomUp, callees, callers, filtered } from './merge.js';
import { beginTheme, isDark, turnTheme } from './theme.js';
import { openPage } from './page.js';

/* The URL of this page on the server. A saved file, or a copy on another
 * server, has no other formats to link to. */
const SERVED = /\/profiling\/(.+\/flamegraph|merge|diff)$/;
const isServed = () => /^https?:$/.test(location.protocol) &&
  SERVED.test(location.pathname);

function readData() {
  try {
    return JSON.parse(/** @type {HTMLElement} */ (
      document.getElementById('data')).textContent);
  } catch (e) {
    return null;
  }
}

const root = /** @type {HTMLElement} */ (document.querySelector('.profile'));
const button = root.querySelector('[part=theme]');
button?.addEventListener('click', turnTheme);
document.addEventListener('stoker-theme', () =>
  button?.setAttribute('aria-pressed', String(isDark())));
beginTheme();
const data = readData();
if (data) document.title = `${data.title || data.service} · Stoker`;
/* For use in the browser's console. */
Object.assign(globalThis, { stoker: { clock, local, matcher, openPage, originOf,
  packageColor, percent, quantity, shorten, NARROW_PX, Tree, bottomUp, callees,
  callers, filtered, ...openPage(root, data,
    { address: isServed() ? location.href : '' }) } });
/* The time from the start of navigation to the first picture. */
document.body.dataset.paintMs = performance.now().toFixed(1);
