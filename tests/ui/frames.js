/*
 * Loads the pages of the test one after the other, each in a frame of its
 * own, and writes down what they report. One named sandbox-* is framed as
 * the server serves it: an origin of its own, and nothing but scripts.
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
    /* Out of sight, it would get no frames to draw. */
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
