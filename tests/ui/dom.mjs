/*
 * Prints a page once it shows what it is asked for; fails when four minutes pass
 * without it, and prints what there is.
 *
 *	BROWSER=... NPM=... node dom.mjs ADDRESS PATTERN [WIDTH HEIGHT]
 */
import { createRequire } from 'node:module';
const { chromium } = createRequire(process.env.NPM + '/')('playwright-core');

const PATIENCE_MS = 240e3, AGAIN_MS = 50;
const [address, pattern, width = 1280, height = 800] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.BROWSER,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
    '--disable-component-update', '--disable-background-networking'] });
const page = await browser.newPage({
  viewport: { width: Number(width), height: Number(height) } });
const wanted = new RegExp(pattern), until = Date.now() + PATIENCE_MS;

await page.goto(address, { waitUntil: 'commit' });
let dom;
do {
  await page.waitForTimeout(AGAIN_MS);
  dom = await page.content().catch(() => ''); /* it is being left for another */
} while (!wanted.test(dom) && Date.now() < until);
await new Promise(done => process.stdout.write(dom, done));
await browser.close();
process.exitCode = wanted.test(dom) ? 0 : 1;
