/*
 * Every page as it looks: without a complaint in the console and without a
 * request that fails; no wider than the window, at four widths, with text twice
 * as large, and in the colours of the system; without motion for a reader who
 * asks for that.
 * Other tests have axe-core judge contrasts.
 *
 *	CAPTURE, THREADS	ids of a capture of CPU time and of one of threads
 *	BEGAN			the time of the first of two minutes of a service, in ms
 *	PICTURES		the folder for pictures, if they are wanted
 */
import { complaintsOf, fits, inside, run, same, visit } from './browser.mjs';

const { CAPTURE, THREADS, PICTURES } = process.env;
const BEGAN = Number(process.env.BEGAN), MIDDLE = BEGAN + 60e3;
const WORK = 'server::work'; /* a function that the demo is always in */
const WIDTHS = [360, 600, 768, 1280, 1920], HEIGHT = 900, MOST_TOP = 220;

const graph = page => page.locator('[part=rows] tr').first().waitFor();
const title = name => page => page.getByRole('heading', { name }).first()
  .waitFor();
const cells = page => page.locator('tbody tr').first().waitFor();
const button = (name, then) => async page => {
  await page.getByRole('button', { name }).first().click();
  await then(page);
};
const form = page => page.getByRole('dialog').getByRole('button').first()
  .waitFor();

/* A page: its address, what is in it, and how it is entered. */
const PAGES = {
  sign_in: ['/ui/', page => page.getByLabel('API key or JWT').waitFor(), visit],
  services: ['/ui/services', cells],
  a_new_service: ['/ui/services', button('Add a service', form)],
  a_new_capture: ['/ui/services', button(/^Profile now/, form)],
  explore: ['/ui/s/demo', graph],
  keys: ['/ui/s/demo', async page => {
    await graph(page);
    await page.keyboard.press('?');
    await form(page);
  }],
  a_range_without_data: ['/ui/s/demo?type=io&from=now-5m',
    title(/^No io profile/)],
  settings: ['/ui/s/demo/settings', title('Baselines')],
  capture: [`/ui/p/${CAPTURE}`, graph],
  a_search: [`/ui/p/${CAPTURE}#q=m&lines=1&fn=${WORK}`, graph],
  sandwich: [`/ui/p/${CAPTURE}#view=sandwich&fn=${WORK}`, async page => {
    await graph(page);
    await page.locator('[part=callers-title]', { hasText: WORK }).waitFor();
  }],
  heat_map: [`/ui/p/${CAPTURE}/heat?sel=500-1500`, graph],
  stacks: [`/ui/p/${THREADS}/threads`, cells],
  two_captures: [`/ui/compare?a=${CAPTURE}.0-2000&b=${CAPTURE}.2000-4000`,
    page => page.locator('[part=verdict] strong').waitFor()],
  side_by_side: [`/ui/compare?a=${CAPTURE}.0-2000&b=${CAPTURE
  }.2000-4000#view=sides`, page => page.locator('[part=base] canvas').waitFor()],
  two_ranges: [`/ui/compare?service=steps&type=cpu&a=${BEGAN}..${MIDDLE}&b=${
    MIDDLE}..${MIDDLE + 60e3}`, page => page.locator('.below .u-over')
    .waitFor()],
  upload: ['/ui/upload', title('Upload a profile')],
  access: ['/ui/access', cells],
  system: ['/ui/system', title('Checks')],
  audit: ['/ui/audit', cells],
  no_such_page: ['/ui/none', title('There is no such page')],
  api_reference: ['/docs/', title(/./)],
  manual: ['/docs/manual/', title(/./)],
};

/* Every size of text in the style sheets, twice as large. */
const enlarge = page => page.evaluate(() => {
  const walk = rules => {
    for (const { style, cssRules = [] } of rules) {
      const size = /([\d.]+)px/.exec(style?.fontSize)?.[1];
      if (size) style.fontSize = 2 * size + 'px';
      walk(cssRules);
    }
  };
  for (const sheet of document.styleSheets) walk(sheet.cssRules);
});

const tests = {};
for (const [name, [path, ready, enter = inside]] of Object.entries(PAGES)) {
  const look = async (page, as) => {
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() =>
      requestAnimationFrame(done))));
    if (PICTURES) await page.screenshot({ fullPage: true,
      path: `${PICTURES}/${name}-${as}.png` });
    await fits(page);
  };
  tests[`${name}_is_quiet_and_fits`] = async () => {
    const page = await enter(path, { height: HEIGHT, reducedMotion: 'reduce' });
    await ready(page);
    await page.waitForFunction(() => !document.querySelector('.skeleton'));
    /* below a heat map the graph may begin lower */
    const top = await page.evaluate(() => document.querySelector(
      '.page:not(:has(.heat-map)) [part=canvas]')?.getBoundingClientRect().top ?? 0);
    if (top > MOST_TOP) throw new Error(`the graph begins at ${top} px`);
    same(await page.evaluate(() => document.getAnimations().length), 0);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        await look(page, `${colorScheme}-${width}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: HEIGHT });
    await page.emulateMedia({ forcedColors: 'active' });
    await look(page, 'forced');
    await page.emulateMedia({ forcedColors: 'none' });
    await enlarge(page);
    await look(page, 'large');
    same(complaintsOf(page), []);
  };
}
await run(tests);
