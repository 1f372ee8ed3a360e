/*
 * Pictures of every page, of a run that has services ai-service and go-demo:
 * tests/ui/shots. Long names come with an upload of a service that is removed
 * again.
 *
 *	FOLDER	where they are put
 *	ONLY	a pattern of NAME-THEME-WIDTH: these alone
 */
import { BASE, close, cookiesOf, inside, KEY, visit } from './browser.mjs';

const { FOLDER, ONLY = '' } = process.env;
const WIDTHS = [[390, 844], [720, 450], [1440, 900], [3840, 2160]];
const P = '/api/v1/observability/profiling';
const NAMES = [
  'std::_Hashtable<std::__cxx11::basic_string<char, std::char_traits<char>, '
  + 'std::allocator<char> >, std::pair<std::__cxx11::basic_string<char> const, '
  + 'shop::Order>, std::__detail::_Select1st>::_M_insert_unique_node(unsigned '
  + 'long, unsigned long, std::__detail::_Hash_node<std::pair<int, int>, true>*)',
  '<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop::h0123456789abcdef',
  'core::iter::adapters::map::map_try_fold::{{closure}}::<hashbrown::map::Iter'
  + '<alloc::string::String, serde_json::value::Value>>::h0123456789abcdef',
  'github.com/example/shop/internal/pricing.(*Engine).applyDiscounts.func1.2',
  'операция_с_очень_длинным_именем_которое_не_помещается_в_строку_таблицы',
  '商品検索を実行する関数'];

const api = async (method, path, body, type = 'application/json') => {
  const reply = await fetch(BASE + path, { method, body,
    headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': type } });
  return reply.status === 204 ? {} : reply.json();
};
async function capture(service, profileType, durationSeconds = 5) {
  const { id } = await api('POST', P + '/start',
    JSON.stringify({ service, profileType, durationSeconds }));
  while ((await api('GET', `${P}/${id}?wait=20`)).status === 'running');
  return id;
}
const folded = heavy => NAMES.map((name, i) => NAMES.slice(0, i + 1)
  .map(n => n.replaceAll(';', ':')).join(';') + ` ${90 - 10 * i + heavy * i}`)
  .join('\n');
const upload = async heavy => (await api('POST',
  '/api/v1/profiling/sessions?service=long-names&type=cpu', folded(heavy),
  'text/plain')).sessionId;

await api('POST', '/api/v1/services', JSON.stringify({ name: 'long-names',
  description: 'Names of C++, Rust and Go that are longer than any row' }));
await api('POST', '/api/v1/services', JSON.stringify({
  name: 'nothing-runs-here-that-matches-this-rather-long-name',
  match: { exe: '/usr/lib/a/folder/that/is/not/there/program' } }));
const [cpu, threads, before, now] = [await capture('ai-service', 'cpu'),
  await capture('go-demo', 'goroutine'), await upload(0), await upload(9)];
const names = `/p/${now}`;

const graph = page => page.locator('[part=rows] tr').first().waitFor();
const verdict = page => page.locator('[part=verdict] strong').waitFor();
const title = name => page => page.getByRole('heading', { name }).waitFor();
const shots = {
  services: ['/services', title('Services')],
  start: ['/services', async page => {
    await page.getByRole('button', { name: /Profile now: nothing/ }).click();
    await page.locator('.foreseen').waitFor();
  }],
  add: ['/services', async page => {
    await page.getByRole('button', { name: 'Add a service' }).click();
    await page.getByRole('dialog').getByRole('textbox').first().waitFor();
  }],
  keys: ['/s/ai-service', async page => {
    await graph(page);
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  }],
  service: ['/s/ai-service', graph],
  empty: ['/s/nothing-runs-here-that-matches-this-rather-long-name',
    title(/No cpu profile/)],
  unknown: ['/s/nobody', title(/There is no service/)],
  settings: ['/s/ai-service/settings', title('Types of profiles')],
  capture: [`/p/${cpu}`, graph],
  bottomup: [`/p/${cpu}#view=bottomup`, graph],
  search: [`/p/${cpu}#q=model`, graph],
  heat: [`/p/${cpu}/heat`, page => page.locator('.heat-map').waitFor()],
  threads: [`/p/${threads}/threads`, page =>
    page.locator('.stacks tbody tr').first().waitFor()],
  names: [names, graph],
  sandwich: [`${names}#view=sandwich&fn=${encodeURIComponent(NAMES[2])}`, graph],
  compare: [`/compare?a=${before}&b=${now}`, verdict],
  sides: [`/compare?a=${before}&b=${now}#view=sides`, verdict],
  upload: ['/upload', title('Upload a profile')],
  access: ['/access', page => page.locator('tbody tr').first().waitFor()],
  system: ['/system', title('Checks')],
  audit: ['/audit', page => page.locator('tbody tr').first().waitFor()],
  none: ['/none', title('There is no such page')],
  signin: ['/', page => page.getByLabel('API key or JWT').waitFor(), visit],
};

const first = await inside('/ui/services');
await title('Services')(first);
const cookies = await cookiesOf(first);
const enter = (path, options) => visit(path, { ...options, cookies });
for (const [name, [path, ready, open = enter]] of Object.entries(shots))
  for (const scheme of ['light', 'dark'])
    for (const [width, height] of WIDTHS) {
      const file = `${name}-${scheme}-${width}`;
      if (!new RegExp(ONLY).test(file)) continue;
      const page = await open('/ui' + path, { scheme, width, height });
      await ready(page).catch(e => console.log(`${name}: ${e.message}`));
      await page.waitForFunction(() => !document.querySelector('.skeleton'));
      await page.screenshot({ path: `${FOLDER}/${file}.png`,
        fullPage: width < 1000 });
      await page.context().close();
    }
for (const name of ['long-names',
  'nothing-runs-here-that-matches-this-rather-long-name'])
  await api('DELETE', `/api/v1/services/${name}`);
await close();
