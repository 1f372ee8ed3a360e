/* Uses the search of the manual as a person does. */
const $ = id => document.getElementById(id);
const tests = [], test = (name, body) => tests.push([name, body]);
const results = () => [...document.querySelectorAll('.result a')]
  .map(a => [a.textContent, a.getAttribute('href')]);

/* Searches, and waits for the results. */
async function find(text) {
  $('found').replaceChildren();
  $('search').value = text;
  $('search').dispatchEvent(new Event('input'));
  while (text && !$('found').querySelector('p'))
    await new Promise(done => setTimeout(done, 10));
}

test('every_page_is_in_the_list_of_pages', () => {
  const here = location.pathname.replace('test.html', 'stoker-glossary.7.html');
  const links = [...document.querySelectorAll('nav a')].map(a => a.pathname);
  same(links.includes(here), true);
  same(links.length >= 14, true);
});
test('an_error_is_found_on_the_page_that_has_its_remedy', async () => {
  await find('ServiceNotRunning');
  same(results()[0], ['stoker-troubleshooting(7): ServiceNotRunning',
    'stoker-troubleshooting.7.html#ServiceNotRunning']);
  same($('page').hidden, true);
});
test('all_words_must_be_in_a_section', async () => {
  await find('courier talks centre');
  same(results().some(([name]) => name === 'stoker-glossary(7): courier'), true);
  await find('courier zzqy');
  same(results(), []);
  same($('found').textContent, 'No page contains “courier zzqy”.');
});
test('an_empty_search_shows_the_page_again', async () => {
  await find('');
  same([$('page').hidden, $('found').hidden], [false, true]);
});

addEventListener('message', e => $('report').append(e.data + '\n'));
run(tests);
