/*
 * Chromium, driven by playwright: pages of the application that report every
 * request to another origin, every report of the content security policy and
 * every error of a script. Tests print `ok NAME` or `not ok NAME: why`.
 *
 *	URL, KEY	of the server, and an API key of an administrator
 *	BROWSER, NPM	the browser, and the folder with the packages
 *	ONLY		a pattern of names: these tests alone
 */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const { URL: BASE, KEY, BROWSER, NPM } = process.env;
const require = createRequire(NPM + '/');
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/* The styles that another colour scheme can break. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

export { BASE, KEY };

const browser = await chromium.launch({ executablePath: BROWSER,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
    '--disable-component-update', '--disable-background-networking'] });
export const close = () => browser.close();

const findings = [], complaints = new WeakMap();

/* The browser's messages to developers about a page: errors and warnings in the
 * console, and requests that failed. */
export const complaintsOf = page => complaints.get(page);
function listen(page) {
  const all = [];
  complaints.set(page, all);
  page.on('console', m => {
    if (['error', 'warning'].includes(m.type())) all.push(m.text());
  });
  page.on('response', r => {
    if (r.status() >= 400) all.push(`${r.status()} ${r.url()}`);
  });
}

/* A browser without cookies, and a page in it. */
export async function visit(path, { width = 1280, height = 800,
  scheme = 'light', bypassCSP = false, cookies = [], ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height },
    colorScheme: scheme, bypassCSP, acceptDownloads: true, ...more });
  await context.addCookies(cookies);
  const page = await context.newPage();
  page.setDefaultTimeout(60e3);
  listen(page);
  page.on('request', r => {
    if (!/^(data|blob):/.test(r.url()) && new URL(r.url()).origin !== BASE)
      findings.push(`request to ${r.url()}`);
  });
  page.on('pageerror', e => findings.push(`error ${e.message}`));
  await page.exposeFunction('tellFinding', text => findings.push(text));
  await page.addInitScript(() => addEventListener('securitypolicyviolation',
    e => tellFinding(`${e.violatedDirective} forbids ${e.blockedURI}`)));
  await page.goto(BASE + path);
  return page;
}

export async function signIn(page, key = KEY) {
  await page.getByLabel('API key or JWT').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export const cookiesOf = page => page.context().cookies();

export function same(got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`${g}, expected ${w}`);
}

async function axe(page, rules) {
  const { violations } = await page.evaluate(only =>
    axe.run(document, { runOnly: only }), rules);
  same(violations.map(v => `${v.id}: ${v.nodes.map(n => n.target.join(' ') +
    ' ' + n.any.map(a => a.message).join('; ')).join(' | ')}`), []);
}

/* Checks that nothing is wider than the window. */
export const fits = async page => same(await page.evaluate(() =>
  document.documentElement.scrollWidth <= innerWidth ? []
    : [...document.querySelectorAll('body *')]
      .filter(e => e.getBoundingClientRect().right > innerWidth)
      .map(e => `${innerWidth} px: ${e.tagName} ${
        e.textContent.slice(0, 40)}`)), []);

const SIZES = [[1280, 800], [390, 844]];
const SCHEMES = { light: RULES, dark: COLOURS };

/* The cookie of a browser that is signed in, without the form. */
async function session() {
  const reply = await fetch(BASE + '/api/v1/browser-session',
    { method: 'POST', headers: { Authorization: `Bearer ${KEY}` } });
  const [, name, value] = /^([^=]+)=([^;]+)/.exec(
    reply.headers.getSetCookie()[0]);
  return [{ name, value, url: BASE }];
}

/* A page of somebody who is signed in. */
export const inside = async (path, options) =>
  visit(path, { ...options, cookies: await session() });

/* A page as axe-core judges it, wide and narrow; dark, by its colours only. */
export const judged = (path, ready, enter = inside) => async () => {
  const page = await enter(path, { bypassCSP: true });
  await ready(page);
  await page.evaluate(AXE);
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    for (const [colorScheme, rules] of Object.entries(SCHEMES)) {
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction(scheme =>
        document.documentElement.dataset.theme === scheme, colorScheme);
      await axe(page, rules);
    }
    await fits(page);
  }
};

const tell = (name, why) => console.log((why === undefined
  ? `ok ${name}` : `not ok ${name}: ${why}`).replace(/\s+/g, ' '));

export async function run(tests) {
  const only = new RegExp(process.env.ONLY ?? '');
  for (const [name, body] of Object.entries(tests))
    if (only.test(name)) {
      await body().then(() => tell(name), e => tell(name, e.message));
      /* A reply that a test replaces may be on its way. */
      for (const page of browser.contexts().flatMap(c => c.pages()))
        await page.unrouteAll({ behavior: 'ignoreErrors' });
      /* A page that is left open keeps asking for news. */
      await Promise.all(browser.contexts().map(c => c.close()));
    }
  tell('no_request_leaves_and_no_policy_is_broken', findings.length > 0
    ? findings.join(' | ') : undefined);
  await close();
}
