/*
 * Runs tests inside a page and tells the page that frames it, one line per
 * test: `ok NAME` or `not ok NAME: why`, and `ok all_N_tests_ran`.
 */
function same(got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`${g}, expected ${w}`);
}

/* A person acts on what was drawn: the table is filled once a frame is out. */
const drawn = () => new Promise(done =>
  requestAnimationFrame(() => setTimeout(done)));

async function run(tests) {
  const tell = line => parent.postMessage(line.replace(/\s+/g, ' '), '*');
  for (const [name, body] of tests)
    try {
      await drawn();
      await body();
      tell('ok ' + name);
    } catch (e) {
      tell(`not ok ${name}: ${e.message}`);
    }
  tell(`ok all_${tests.length}_tests_ran`);
}
