/*
 * Runs tests in a page, and sends the framing page a line per test: `ok NAME`
 * or `not ok NAME: why`, and at the end `ok all_N_tests_ran`.
 */
function same(got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`${g}, expected ${w}`);
}

/* Waits for a frame to be drawn, after which the table is filled. */
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
