/*
 * The pictures of README.md, of the web application in Chromium:
 *
 *	pictures.mjs ID SERVICE BEGIN RELEASED END
 *
 *	ID		a profile: flame.png
 *	SERVICE ...	profiled from BEGIN to END, with a release within, in
 *			milliseconds: range.png, and change.png for what the
 *			release changed
 *	URL, KEY	of the server, and an API key
 *	BROWSER, NPM	the browser, and the folder with playwright-core
 */
import { createRequire } from 'node:module';

const { URL: BASE, KEY, BROWSER, NPM } = process.env;
const [id, service, begin, released, end] = process.argv.slice(2);
const { chromium } = createRequire(NPM + '/')('playwright-core');
const browser = await chromium.launch({ executablePath: BROWSER,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
const page = await (await browser.newContext({
  viewport: { width: 1280, height: 720 } })).newPage();

async function take(name, path, isThere) {
  await page.goto(BASE + '/ui' + path);
  await page.locator(isThere).first().waitFor();
  await page.waitForFunction(() => !document.querySelector('.skeleton'));
  await page.mouse.move(0, 0);
  await page.waitForTimeout(1000); /* the table follows the graph */
  await page.screenshot({ path: `conf/readme/${name}.png` });
}

await page.goto(BASE + '/ui/services');
await page.getByLabel('API key or JWT').fill(KEY);
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('heading', { name: 'Services' }).waitFor();

/* Only the functions of the Python program itself. */
const own = '#fold-kind=interpreter&fold-kind=runtime';

await take('flame', `/p/${id}`, '.profile canvas');
await take('range', `/s/${service}?type=cpu&from=${begin}&to=${end}${own}`,
  '.profile canvas');
await take('change', `/compare?a=${begin}..${released}&b=${
  released}..${end}&service=${service}&type=cpu&norm=share${own}&view=sides`,
'[part=base] canvas');
await browser.close();
