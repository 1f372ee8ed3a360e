/*
 * Loads the pages of a test in turn, each in a new frame, and collects their
 * results. A page named sandbox-* is framed as the server serves it: with its
 * own origin and with scripts only.
 */
(() => {
  const report = document.getElementById('report');
  const pages = document.body.dataset.pages.split(' ');
  const PATIENCE_MS = 60e3;
  let name, timer;

  function next() {
    document.querySelector('iframe')?.remove();
    clearTimeout(timer);
    timer = setTimeout(next, PATIENCE_MS);
    name = pages.shift();
    if (!name) return clearTimeout(timer);
    const frame = document.createElement('iframe');
    frame.width = 1200;
    frame.height = 700;
    /* A hidden frame would not be drawn. */
    frame.style = 'position: fixed; inset: 0';
    if (name.startsWith('sandbox-')) frame.sandbox = 'allow-scripts';
    frame.src = name + '.html';
    document.body.append(frame);
  }

  window.addEventListener('message', e => {
    report.textContent += e.data.replace('ok ', `ok ${name}/`) + '\n';
    if (e.data.startsWith('ok all_')) next();
  });
  next();
})();
