/*
 * Prints a page once it contains the pattern. After four minutes without the
 * pattern, prints the page as it is, and fails.
 *
 *	BROWSER=... NPM=... node dom.mjs ADDRESS PATTERN [WIDTH HEIGHT]
 */
import { createRequire } from 'node:module';
const { chromium } = createRequire(process.env.NPM + '/')('playwright-core');

const PATIENCE_MS = 240e3, AGAIN_MS = 100;
const [address, pattern, width = 1280, height = 800] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.BROWSER,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
    '--disable-component-update', '--disable-background-networking'] });
const page = await browser.newPage({
  viewport: { width: Number(width), height: Number(height) } });

await page.goto(address, { waitUntil: 'commit' });
await page.waitForFunction(wanted => new RegExp(wanted)
  .test(document.documentElement.outerHTML), pattern,
{ polling: AGAIN_MS, timeout: PATIENCE_MS })
  .catch(() => { process.exitCode = 1; });
const dom = await page.content();
await new Promise(done => process.stdout.write(dom, done));
await browser.close();
