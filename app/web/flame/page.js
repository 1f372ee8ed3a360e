/*
 * The page around the canvas. What one sees is one state: a view, a query, a
 * highlighted function, a direction, an order, the table. Every change goes
 * through set(), which redraws what depends on it and writes the state into
 * the fragment of the address, so that a link shows the same again.
 */
(() => {
  const { Tree, DiffTree, Flame, Table, element, matcher, quantity, percent, shorten } =
    stoker;
  const $ = id => document.getElementById(id);
  let doc, tree, flame, table, state, marks = null;

  function set(change, keep = 'replaceState') {
    const old = state;
    state = { ...old, ...change };
    const differs = (...keys) => keys.some(k => state[k] !== old[k]);
    if (differs('shape')) reshape();
    if (differs('query', 'fn')) drawMarks();
    if (differs('below')) flame.setRootBelow(state.below);
    if (differs('view')) {
      drawCrumbs();
      flame.show(state.view);
    }
    drawTools();
    if (state.table) table.show(state);
    if (keep) remember(keep);
  }

  const zoom = view => set({ view }, 'pushState');
  const reset = () => set({ view: tree.view(0), query: '', fn: '' },
    'pushState');
  const highlight = name => set({ fn: name === state.fn ? '' : name });
  const order = column => set(column === state.sort
    ? { reversed: !state.reversed } : { sort: column, reversed: false });

  function zoomOut() {
    const up = tree.parent[state.view.first];
    if (up >= 0) zoom(tree.view(up));
  }

  /* --- the address ------------------------------------------------------- */

  function remember(how) {
    const { view } = state, q = new URLSearchParams();
    for (const name of tree.path(view.first)) q.append('z', name);
    if (view.last !== view.first) q.set('to', tree.nameOf(view.last));
    if (state.query) q.set('q', state.query);
    if (state.fn) q.set('fn', state.fn);
    if (state.below) q.set('view', 'flame');
    if (state.shape !== tree.firstShape) q.set('shape', state.shape);
    if (state.sort !== tree.constructor.sort || state.reversed)
      q.set('sort', (state.reversed ? '-' : '') + state.sort);
    if (!state.table) q.set('table', '0');
    const url = String(q) ? '#' + q : location.pathname + location.search;
    if (url === (location.hash || location.pathname + location.search)) return;
    try {
      history[how](null, '', url);
    } catch (e) {
      /* A document without an address (srcdoc): nothing to keep. */
    }
  }

  function recall() {
    const q = new URLSearchParams(location.hash.slice(1));
    const first = tree.find(q.getAll('z')), sort = q.get('sort') || '';
    const column = sort.replace('-', '');
    return {
      view: q.has('to') ? tree.range(first, q.get('to')) : tree.view(first),
      query: (q.get('q') || '').slice(0, 400),
      fn: q.get('fn') || '',
      below: q.get('view') === 'flame',
      shape: Object.hasOwn(DiffTree.shapes, q.get('shape')) && doc.base
        ? q.get('shape') : tree.firstShape,
      sort: Object.hasOwn(tree.constructor.columns, column) ? column
        : tree.constructor.sort,
      reversed: sort.startsWith('-'),
      table: q.get('table') !== '0',
    };
  }

  /* --- parts -------------------------------------------------------------- */

  function drawFacts() {
    $('service').textContent = doc.service || doc.title || 'Profile';
    $('type').textContent = doc.type;
    document.title = `${doc.title || doc.service} · Stoker`;
    const started = String(doc.startedAt).replace('T', ' ')
      .replace(/(\.\d+)?Z$/, ' UTC');
    const facts = doc.base ? DiffTree.facts(doc) : [['Started', started],
      ['Duration', quantity(doc.durationMs * 1e6, 'nanoseconds')],
      ['Samples', Number(doc.totalSamples).toLocaleString('en')],
      ['Total', quantity(doc.total, doc.unit)]];
    $('facts').replaceChildren(...facts.map(([name, value]) => {
      const group = element('div', '');
      group.append(element('dt', name), element('dd', value));
      return group;
    }));
  }

  /* --- two profiles ------------------------------------------------------- */

  /* What is looked at stays, as wide as it is by the other side. */
  function reshape() {
    if (!doc.base) return;
    const { first, end } = state.view;
    tree.setShape(state.shape);
    state.view = tree.view(first, end);
    $('shape').textContent = 'Widths: ' + DiffTree.shapes[state.shape];
  }

  function nextShape() {
    if (!doc.base) return;
    const all = Object.keys(DiffTree.shapes);
    set({ shape: all[(all.indexOf(state.shape) + 1) % all.length] });
  }

  function beginDiff() {
    document.body.classList.add('diff');
    $('legend').hidden = $('shape').hidden = false;
    $('legend').replaceChildren(...DiffTree.legend(doc).map(([kind, what]) => {
      const item = element('li', what);
      if (kind) item.prepend(element('i', '', { class: kind }));
      return item;
    }));
    const head = document.querySelector('#top thead tr');
    const numbers = DiffTree.heads.map(([key, title]) => {
      const th = element('th', '', { scope: 'col', 'data-sort': key });
      th.append(element('button', title, { type: 'button' }));
      return th;
    });
    head.replaceChildren(...numbers, ...[...head.children].slice(2));
    $('shape').addEventListener('click', nextShape);
  }

  /* The root, the last few callers, and what is zoomed into. */
  function drawCrumbs() {
    const { first, last } = state.view, nodes = [], items = [];
    for (let i = first; i >= 0; i = tree.parent[i]) nodes.unshift(i);
    if (last !== first) nodes.pop();
    const skipped = nodes.length > 5 ? nodes.splice(1, nodes.length - 4) : [];
    for (const i of nodes) {
      const name = tree.nameOf(i), item = element('li', '');
      item.append(element('button', shorten(name, 32),
        { type: 'button', title: name }));
      item.firstChild.addEventListener('click', () => zoom(tree.view(i)));
      items.push(item);
    }
    if (skipped.length > 0) items.splice(1, 0, element('li', '…'));
    if (last !== first) items.push(element('li', 'narrow frames'));
    items[items.length - 1].setAttribute('aria-current', 'location');
    $('crumbs').replaceChildren(...items);
  }

  function drawMarks() {
    const { query, fn } = state, typed = matcher(query);
    marks = fn ? tree.mark(s => s === fn)
      : query ? tree.mark(typed.test) : null;
    flame.setMarks(marks);
    const error = !fn && query && typed.error;
    const found = !marks ? '' : marks.frames === 0 ? 'No match'
      : `${percent(marks.total, tree.all)} matched · ` +
        `${quantity(marks.total, tree.unit)} · ` +
        `${marks.frames.toLocaleString('en')} frame` +
        (marks.frames === 1 ? '' : 's');
    $('matched').textContent =
      (fn ? shorten(fn, 40) + ': ' : '') + found + (error ? ` (${error})` : '');
    $('search').classList.toggle('invalid', Boolean(error));
    if ($('search').value !== query) $('search').value = query;
  }

  function drawTools() {
    const { view, query, fn, below, table } = state;
    $('flip').setAttribute('aria-pressed', below);
    $('aside').setAttribute('aria-pressed', table);
    $('top').hidden = !table;
    $('reset').disabled = view.first === 0 && !query && !fn;
  }

  /* --- one frame ---------------------------------------------------------- */

  function choose(node) {
    const numbers = tree.describe(node, state.view).join(' · ');
    flame.choose(node);
    $('chosen').textContent = $('chosen').title = tree.nameOf(node);
    $('numbers').textContent = [tree.packageOf(node), numbers]
      .filter(Boolean).join(' · ');
    $('copy').hidden = false;
    say(`${tree.nameOf(node)}. ${numbers}`);
  }

  const say = text => { $('live').textContent = text; };

  /* The clipboard is refused to sandboxed and plain-http pages: then the name
   * is left selected for the reader to copy. */
  async function copy() {
    try {
      await navigator.clipboard.writeText($('chosen').textContent);
      say('Copied');
    } catch (e) {
      getSelection().selectAllChildren($('chosen'));
      say(document.execCommand('copy') ? 'Copied' : 'Selected, not copied');
    }
  }

  function nextMatch(step) {
    const { first, end } = state.view, n = end - first;
    for (let k = 1; marks && k <= n; k++) {
      const i = first + ((flame.chosen - first + step * k) % n + n) % n;
      if (marks.before[i + 1] > marks.before[i]) return choose(i);
    }
  }

  /* --- keys, theme, start ------------------------------------------------- */

  const toggle = key => set({ [key]: !state[key] });
  const KEYS = {
    Escape: reset,
    Backspace: zoomOut,
    '/': () => $('search').focus(),
    '?': () => $('keys').showModal(),
    n: () => nextMatch(1),
    N: () => nextMatch(-1),
    c: copy,
    v: () => toggle('below'),
    w: nextShape,
    t: () => toggle('table'),
    d: () => setTheme(!isDark(), true),
  };

  function onKey(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || $('keys').open) return;
    if (e.target === $('search')) {
      if (e.key === 'Enter') nextMatch(e.shiftKey ? -1 : 1);
      if (e.key !== 'Escape') return;
      e.preventDefault();
      $('canvas').focus();
      return set({ query: '' });
    }
    if (!KEYS[e.key]) return;
    e.preventDefault();
    KEYS[e.key]();
  }

  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => document.documentElement.dataset.theme === 'dark';

  /* Storage is refused to a sandboxed page: then the choice lasts as long. */
  function setTheme(dark, keep) {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    $('theme').setAttribute('aria-pressed', dark);
    if (flame) flame.readTheme();
    if (flame && state.table) table.show(state);
    try {
      if (keep) localStorage.setItem('stoker-theme', dark ? 'dark' : 'light');
    } catch (e) { /* see above */ }
  }

  function storedTheme() {
    try {
      return localStorage.getItem('stoker-theme');
    } catch (e) {
      return null;
    }
  }

  /* Why there is nothing to draw, or nothing at all when there is. */
  function emptiness() {
    if (!doc) return 'The data of this page is damaged.';
    const total = Math.max(doc.total, doc.base ? doc.base.total : 0);
    if (total > 0 && doc.depth.length > 1) return '';
    const time = quantity(doc.durationMs * 1e6, 'nanoseconds');
    return `Nothing was sampled in ${time}: the service was idle, or it did ` +
      `none of what a ${doc.type} profile counts.`;
  }

  function listen() {
    const on = (id, event, action) => $(id).addEventListener(event, action);
    on('search', 'input', () => set({ query: $('search').value, fn: '' }));
    on('reset', 'click', reset);
    on('flip', 'click', KEYS.v);
    on('aside', 'click', KEYS.t);
    on('help', 'click', KEYS['?']);
    on('copy', 'click', copy);
    document.addEventListener('keydown', onKey);
    window.addEventListener('hashchange', () => set(recall(), ''));
  }

  function readData() {
    try {
      return JSON.parse($('data').textContent);
    } catch (e) {
      return null;
    }
  }

  function begin() {
    doc = readData();
    if (doc) drawFacts();
    const why = emptiness();
    document.body.classList.toggle('empty', Boolean(why));
    $('notice').textContent = why;
    $('notice').hidden = !why;
    if (why) return;
    tree = doc.base ? new DiffTree(doc) : new Tree(doc);
    if (doc.base) beginDiff();
    flame = new Flame({ scroll: $('scroll'), canvas: $('canvas'),
      spacer: $('spacer'), tip: $('tip') }, tree, { choose, zoom });
    table = new Table({
      title: $('top-title'), body: $('rows'), more: $('more'),
      heads: [...document.querySelectorAll('#top th')],
      colorOf: name => flame.fills.name(name),
    }, tree, { highlight, order });
    state = {};
    flame.resize();
    set(recall(), '');
    choose(state.view.first);
    flame.paint();
    listen();
    stoker.flame = flame;
    stoker.tree = tree;
    /* From the start of navigation until the first picture is handed over. */
    document.body.dataset.paintMs = performance.now().toFixed(1);
  }

  setTheme((storedTheme() || (system.matches ? 'dark' : 'light')) === 'dark');
  system.addEventListener('change', e => {
    if (!storedTheme()) setTheme(e.matches);
  });
  $('theme').addEventListener('click', KEYS.d);
  begin();
})();
