/*
 * The page around the canvas. Everything visible is one state: the view, the
 * query, the selected function, the drawing, the order, the table. Every change
 * goes through set(), which redraws the parts that depend on it and writes the
 * state to the fragment of the URL, so that a link shows the same view.
 *
 * There is one selection. Whatever was picked last, a frame or a row of the
 * table, is what the picture and the table mark, what the line below describes,
 * and what the sandwich shows.
 */
import { ORIGINS, matcher, packaged, quantity, percent, shorten, visible }
  from './text.js';
import { Tree } from './model.js';
import { Flame, element } from './flame.js';
import { COLUMNS, Table, USUAL } from './table.js';
import { LISTS, Lines } from './lines.js';
import { DiffTree } from './diff.js';
import { FILTERS, RECURSION, SEEN, Sandwich, bottomUp, filtered } from './sandwich.js';
import { addressOf, aimFormats, facts, showFormats, showQuality,
  showVerdict } from './about.js';
import { turnTheme } from './theme.js';

const $ = id => document.getElementById(id);
const DRAWINGS = ['icicle', 'flame', 'bottomup', 'sandwich'];
const TOAST_MS = 2500;
const PACKAGES = 8; /* in the legend */
const LEAST_TABLE_PX = 240, LEAST_GRAPH_PX = 320, STEP_PX = 32;

let tableWidth = 0; /* as the reader has set it, for the next profile, too */

/*
 * Shows one or two profiles in the elements of page.html, which are in the
 * document. address is the URL of the profile's other formats; '' without a
 * server. fetched(url) resolves to the JSON there; pages that may not ask the
 * server have none. linked(place) is the address of "file:line", or ''. Call close() of the result to end, and renew() to show newer data in
 * the same view. The document receives the event stoker-function with the name
 * of the selected function, or ''.
 */
function openPage(doc, address, fetched, linked = place => place && '') {
  const ended = new AbortController();
  /* The tree as captured, with what is left out of it, inverted, and the one
   * that is shown. */
  let source, whole, turned, shown, tree, isHeavy = false;
  let flame, sandwich, table, lines, state, marks = null;
  let chosen; /* the frame that is described: { node, flame } */

  function set(change, keep = 'replaceState') {
    const old = state;
    if (change.filters) sift(change.filters);
    if (change.isHeavy !== undefined) turn(change.isHeavy);
    const isOther = change.drawing && enter(change.drawing);
    state = { ...old, ...isOther ? { view: tree.view(0) } : {}, ...change };
    const differs = (...keys) => keys.some(k => state[k] !== old[k]);
    if (differs('shape')) reshape();
    if (differs('drawing')) redraw();
    if (differs('view')) flame.show(state.view);
    if (differs('query', 'drawing', 'view')) drawMarks();
    if (differs('fn', 'drawing', 'view')) drawPicked(differs('view'));
    if (inSandwich() && differs('fn', 'drawing', 'shape')) center();
    if (differs('view', 'fn', 'drawing')) drawCrumbs();
    if (differs('fn')) document.dispatchEvent(
      new CustomEvent('stoker-function', { detail: state.fn }));
    if (differs('filters')) {
      drawFilters();
      drawKinds();
      drawLegend();
    }
    if (!doc.base && state.byOrigin !== source.style.byOrigin) {
      source.style.byOrigin = state.byOrigin;
      repaint();
    }
    if (differs('lines', 'fn', 'filters')) drawLines();
    if (differs('columns')) drawColumns();
    drawTools();
    showTable(differs('view'));
    if (keep) remember(keep);
  }

  /* Shows the tree of a drawing. Returns false if it is shown already. */
  function enter(drawing) {
    if (drawing === 'bottomup') turned ??= bottomUp(whole);
    const next = drawing === 'bottomup' ? turned : whole;
    if (next === shown) return false;
    shown = next;
    tree = isHeavy ? next.heavyFirst() : next;
    if (doc.base) tree.setShape(state.shape ?? tree.firstShape);
    flame.setTree(tree);
    table.tree = tree;
    choose(0);
    drawCut();
    return true;
  }

  /* Makes the trees anew, without what is left out. */
  function sift(filters) {
    if (String(filters) === String(state.filters ?? [])) return;
    whole = filters.length > 0 ? filtered(source, filters) : source;
    turned = shown = undefined;
    if (sandwich) sandwich.tree = whole;
  }

  /* Keeps the zoom. */
  function turnOrder() {
    const path = tree.path(state.view.first);
    set({ isHeavy: !state.isHeavy, drawing: state.drawing });
    if (path.length > 0) set({ view: tree.view(tree.find(path)) });
  }

  /* The order of siblings, from the next drawing on. */
  function turn(on) {
    if (on === isHeavy) return;
    isHeavy = on;
    shown = undefined;
  }

  const FILTERED = { focus: 'only', hide: 'without', fold: 'folded:',
    'fold-package': 'folded:', 'fold-kind': 'folded:',
    'focus-text': 'only like', 'hide-text': 'without like',
    'fold-text': 'folded like' };

  /*
   * The filters in effect, each with a way to remove it, and how much they
   * leave.
   */
  function drawFilters() {
    const chips = state.filters.map((filter, i) => {
      const [what, name] = filter;
      const chip = element('button', `${FILTERED[what]} ${
        shorten(packaged(name), 24)} ×`,
        { type: 'button', title: `${name}: show all again` });
      chip.addEventListener('click', () => leave(state.filters.filter(
        (_, k) => k !== i)));
      return chip;
    });
    const left = whole.n > 1 ? whole.total[0] : 0;
    if (chips.length > 0 && left < source.total[0]) chips.push(
      `${percent(source.total[0] - left, source.total[0])} left out`);
    $('filters').replaceChildren(...chips);
  }

  /*
   * Shows the colours of the packages in which most is spent, or of kinds of
   * code. A click folds a package.
   */
  function drawLegend() {
    if (doc.base) return;
    const { byOrigin } = source.style, spent = new Map(), colored = new Map();
    const groupOf = name => byOrigin ? whole.originOf(name) : whole.packages[name];
    for (let i = 1; i < whole.n; i++) {
      const name = whole.name[i], group = groupOf(name);
      if (!group) continue;
      spent.set(group, (spent.get(group) ?? 0) + whole.self[i]);
      if (!colored.has(group)) colored.set(group, name);
    }
    const most = [...spent].sort(([, a], [, b]) => b - a).slice(0, PACKAGES);
    const other = element('button', byOrigin ? 'By package' : 'By own code',
      { type: 'button', title: byOrigin ? 'Colours by package (k)'
        : 'Colours by own code, libraries, runtimes and kernel (k)' });
    other.addEventListener('click', turnColors);
    const items = [...most.map(([group, value]) => {
      const item = byOrigin ? element('span', '') : element('button', '', {
        type: 'button', title: `${group}: fold it into its callers` });
      const dot = element('i', '');
      dot.style.background = flame.fills.name(colored.get(group));
      item.append(dot, `${byOrigin ? ORIGINS[group]
        : shorten(packaged(group), 24)} ${percent(value, source.total[0])}`);
      if (!byOrigin) item.addEventListener('click', () =>
        leaveOut('fold-package', group));
      return item;
    }), other];
    $('legend').hidden = most.length === 0;
    $('legend').replaceChildren(...items.map(item => {
      const li = element('li', '');
      li.append(item);
      return li;
    }));
  }

  const turnColors = () => set({ byOrigin: !state.byOrigin });

  const leave = filters => set({ filters, drawing: inSandwich() ? 'icicle'
    : state.drawing }, 'pushState');
  const leaveOut = (what, name) => leave([...state.filters.filter(f =>
    f[1] !== name), [what, name]]);

  /* --- kinds of code ----------------------------------------------------- */

  const isKindFolded = kind =>
    state.filters.some(f => f[0] === 'fold-kind' && f[1] === kind);

  /* Folds a kind of code, or shows it again. */
  function turnKind(kind) {
    leave(isKindFolded(kind)
      ? state.filters.filter(f => f[0] !== 'fold-kind' || f[1] !== kind)
      : [...state.filters, ['fold-kind', kind]]);
  }

  /* The kinds that the profile has, each with the part spent in it itself. */
  function drawKinds() {
    const spent = new Float64Array(source.names.length);
    for (let i = 1; i < source.n; i++) spent[source.name[i]] += source.self[i];
    const found = source.kinds.filter(({ kind, names }) =>
      kind === RECURSION || names.length > 0);
    const isHeld = $('kinds').contains(document.activeElement) &&
      document.activeElement.value;
    $('kinds').querySelector('ul').replaceChildren(...found.map(
      ({ kind, about, names }) => {
        const li = element('li', ''), label = element('label', '',
          { title: about });
        const box = element('input', '', { type: 'checkbox', value: kind });
        box.checked = isKindFolded(kind);
        box.addEventListener('change', () => turnKind(kind));
        label.append(box, ` ${kind}`);
        if (kind !== RECURSION) label.append(element('span', percent(
          names.reduce((sum, i) => sum + spent[i], 0), source.total[0])));
        li.append(label);
        return li;
      }));
    if (isHeld) $('kinds').querySelector(`[value="${isHeld}"]`)?.focus();
  }

  /* Applies a filter to the functions that are searched for. The API has one
   * text for each. */
  function leaveOutFound(what) {
    const { query } = state;
    set({ query: '' });
    leave([...state.filters.filter(f => f[0] !== what), [what, query]]);
    $('kinds').firstElementChild.focus();
  }

  /* --- the menu of a frame ----------------------------------------------- */

  function kindsOf(name) {
    const i = source.names.indexOf(name);
    return source.kinds.filter(({ kind, names }) => names.includes(i) &&
      !isKindFolded(kind)).map(({ kind }) => kind);
  }

  function openMenu(x, y) {
    const name = state.fn, menu = $('menu');
    if (!name) return;
    const pkg = source.packages[source.names.indexOf(name)];
    const items = [
      ['Focus: only stacks through it', () => leaveOut('focus', name)],
      ['Hide stacks through it', () => leaveOut('hide', name)],
      ['Fold it into its callers', () => leaveOut('fold', name)],
      ...pkg ? [[`Fold all of ${shorten(packaged(pkg), 30)}`, () =>
        leaveOut('fold-package', pkg)]] : [],
      ...kindsOf(name).map(kind => [`Fold all of the kind ${kind}`, () =>
        turnKind(kind)]),
      ...lines ? [['Cost of each line', () => turnLines('source')],
        ['Cost of each instruction', () => turnLines('code')]] : [],
      ['Callers and callees', () => around(name)],
      ['Copy name', copyName], ['Copy stack', copyStack]];
    menu.replaceChildren(...items.map(([text, action]) => {
      const item = element('button', text, { type: 'button',
        role: 'menuitem', tabindex: '-1' });
      item.addEventListener('click', () => {
        closeMenu();
        action();
      });
      return item;
    }));
    menu.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = menu;
    menu.style.left = Math.max(4, Math.min(x, innerWidth - w - 8)) + 'px';
    menu.style.top = Math.max(4, Math.min(y, innerHeight - h - 8)) + 'px';
    menu.firstChild.focus();
  }

  function closeMenu() {
    if ($('menu').hidden) return;
    const isHeld = $('menu').contains(document.activeElement);
    $('menu').hidden = true;
    if (isHeld) chosen.flame.canvas.focus();
  }

  function menuKey(e) {
    const items = [...$('menu').children];
    const at = items.indexOf(document.activeElement), { length: n } = items;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: n - 1 }[
      e.key];
    if (to !== undefined) items[(to + n) % n].focus();
    else if (e.key === 'Escape' || e.key === 'Tab') closeMenu();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  function openMenuBelow() {
    const { left, top } = $('more-actions').getBoundingClientRect();
    openMenu(left, top);
  }

  /* --- source lines ------------------------------------------------------- */

  /* The list follows the selection. */
  function drawLines() {
    lines?.show(state.lines, state.fn, `${address} ${state.filters}`);
  }

  /* Shows a list, or closes it if it is shown. */
  function turnLines(what = state.lines || 'source') {
    if (lines && (state.fn || state.lines))
      set({ lines: state.lines === what ? '' : what });
  }

  /* Reports what the inverted tree leaves out. */
  function drawCut() {
    const { cut = 0 } = tree;
    $('cut').hidden = cut === 0;
    $('cut').textContent = `Callers of ${cut.toLocaleString('en')} ${
      cut === 1 ? 'frame' : 'frames'} below ${SEEN * 100}% are not shown.`;
  }

  /* Another view paints the graph first: the table takes longer than a
   * frame. */
  function showTable(isLater = false) {
    holdTable();
    if (!state.table) return;
    if (!isLater) return table.show(state);
    showTable.frame = requestAnimationFrame(() => {
      showTable.timer = setTimeout(() => table.show(state));
    });
  }

  function holdTable() {
    cancelAnimationFrame(showTable.frame);
    clearTimeout(showTable.timer);
  }

  const inSandwich = () => state.drawing === 'sandwich';
  const zoom = view => set({ view }, 'pushState');
  const order = column => set(column === state.sort
    ? { reversed: !state.reversed } : { sort: column, reversed: false });
  const around = name => set({ drawing: 'sandwich', fn: name }, 'pushState');

  function select(name) {
    if (inSandwich()) around(name);
    else set({ fn: name === state.fn ? '' : name });
  }

  /* Selects the function of a frame in the picture. */
  function pick(node) {
    choose(node);
    set({ fn: node > 0 ? tree.nameOf(node) : '' });
  }

  function reset() {
    const isSifted = state.filters.length > 0;
    set({ ...isSifted ? {} : { view: tree.view(0) }, query: '', fn: '',
      filters: [], drawing: inSandwich() ? 'icicle' : state.drawing },
    'pushState');
  }

  /* Undoes one thing: the sandwich, the selection, the search or the zoom. */
  function takeBack() {
    if (inSandwich()) set({ drawing: 'icicle' }, 'pushState');
    else if (state.fn) set({ fn: '' });
    else if (state.query) set({ query: '' });
    else if (state.view.first > 0) zoom(tree.view(0));
  }

  function zoomOut() {
    const up = tree.parent[state.view.first];
    if (inSandwich()) set({ drawing: 'icicle' }, 'pushState');
    else if (up >= 0) zoom(tree.view(up));
  }

  /* The selected function, or else the most expensive one. Within the sandwich
   * it is that of the frame that is described. */
  function toSandwich() {
    const { node, flame: on } = chosen;
    if (inSandwich() && node > 0) return around(on.tree.nameOf(node));
    if (state.fn) return around(state.fn);
    const [top] = tree.sortTop(tree.top(state.view), tree.constructor.sort,
      true);
    if (top) around(tree.names[top.name]);
  }

  /* --- the address ------------------------------------------------------- */

  function remember(how) {
    const { view } = state, q = new URLSearchParams();
    for (const name of tree.path(view.first)) q.append('z', name);
    if (view.last !== view.first) q.set('to', tree.nameOf(view.last));
    if (state.query) q.set('q', state.query);
    if (state.fn) q.set('fn', state.fn);
    for (const [what, name] of state.filters) q.append(what, name);
    if (state.isHeavy) q.set('order', 'weight');
    if (state.byOrigin) q.set('colors', 'origin');
    if (state.drawing !== 'icicle') q.set('view', state.drawing);
    if (state.shape !== tree.firstShape) q.set('shape', state.shape);
    if (state.sort !== tree.constructor.sort || state.reversed)
      q.set('sort', (state.reversed ? '-' : '') + state.sort);
    if (!state.table) q.set('table', '0');
    if (state.lines) q.set('lines', state.lines);
    if (String(state.columns) !== String(chosenColumns(USUAL)))
      q.set('columns', String(state.columns));
    const url = String(q) ? '#' + q : location.pathname + location.search;
    if (url === (location.hash || location.pathname + location.search)) return;
    try {
      history[how](null, '', url);
    } catch (e) {
      /* A document without a URL (srcdoc) cannot keep state. */
    }
  }

  function recall() {
    const q = new URLSearchParams(location.hash.slice(1));
    const fn = q.get('fn') || '', asked = q.get('view');
    const filters = [...q].filter(([what, name]) => FILTERS.includes(what) &&
      (what.endsWith('-text') ? name && name.length <= 400 : (what === 'fold-package' ? source.packages : what === 'fold-kind'
        ? source.kinds.map(k => k.kind) : source.names).includes(name)));
    sift(filters);
    turn(q.get('order') === 'weight');
    const drawing = !DRAWINGS.includes(asked) ||
      asked === 'sandwich' && !tree.names.includes(fn) ? 'icicle' : asked;
    enter(drawing);
    const first = tree.find(q.getAll('z')), sort = q.get('sort') || '';
    const column = sort.replace('-', '');
    return {
      view: q.has('to') ? tree.range(first, q.get('to')) : tree.view(first),
      query: (q.get('q') || '').slice(0, 400), fn, drawing, filters,
      isHeavy, byOrigin: q.get('colors') === 'origin',
      shape: Object.hasOwn(DiffTree.shapes, q.get('shape')) && doc.base
        ? q.get('shape') : tree.firstShape,
      sort: Object.hasOwn(tree.constructor.columns, column) ? column
        : tree.constructor.sort,
      reversed: sort.startsWith('-'),
      table: q.get('table') !== '0',
      columns: chosenColumns(q.get('columns')?.split(',') ?? USUAL),
      lines: q.get('lines') === '1' ? 'source'
        : Object.hasOwn(LISTS, q.get('lines')) ? q.get('lines') : '',
    };
  }

  /* --- parts -------------------------------------------------------------- */

  function drawAbout() {
    $('service').textContent = doc.service || doc.title || 'Profile';
    $('type').textContent = doc.type;
    document.title = `${doc.title || doc.service} · Stoker`;
    drawFacts();
  }

  function drawFacts() {
    $('facts').replaceChildren(...facts(doc, DiffTree.facts));
    showQuality($('quality'), doc);
    showFormats($('formats'), doc, address,
      () => (inSandwich() ? $('callees') : $('scroll')).firstElementChild);
  }

  /* Paths of an inverted tree are not the server's. */
  function aim() {
    const isServers = ['icicle', 'flame'].includes(state.drawing);
    if (!doc.base) aimFormats($('formats'),
      isServers ? tree.path(state.view.first) : [], state.query,
      state.filters);
  }

  /* --- two profiles ------------------------------------------------------- */

  /* Keeps the view, with the widths of the other side. */
  function reshape() {
    if (!doc.base) return;
    const { first, end } = state.view;
    tree.setShape(state.shape);
    state.view = tree.view(first, end);
    $('shape').textContent = 'Widths: ' + DiffTree.shapes[state.shape];
  }

  function nextShape() {
    const shapes = Object.keys(DiffTree.shapes);
    if (doc.base)
      set({ shape: shapes[(shapes.indexOf(state.shape) + 1) % shapes.length] });
  }

  function beginDiff() {
    $('profile').classList.add('diff');
    $('legend').hidden = $('shape').hidden = false;
    showVerdict($('verdict'), doc, fn => set({ fn, view: tree.view(0),
      drawing: inSandwich() ? 'icicle' : state.drawing }, 'pushState'));
    $('legend').replaceChildren(...DiffTree.legend(doc).map(([kind, text]) => {
      const item = element('li', '');
      if (kind) item.append(element('i', '', { class: kind }));
      item.append(text);
      return item;
    }));
    const head = document.querySelector('#top thead tr');
    const numbers = DiffTree.heads.map(([key, title]) => {
      const th = element('th', '', { scope: 'col', 'data-sort': key });
      th.append(element('button', title, { type: 'button' }));
      return th;
    });
    head.replaceChildren(...numbers, ...[...head.children].slice(2, 4));
    $('columns').hidden = true;
    $('shape').addEventListener('click', nextShape);
  }

  /* --- the picture -------------------------------------------------------- */

  function redraw() {
    const { drawing } = state, isHeld = ['scroll', 'sandwich-panes'].some(
      id => $(id).contains(document.activeElement));
    $('scroll').hidden = inSandwich();
    $('sandwich-panes').hidden = !inSandwich();
    if (!inSandwich()) {
      flame.resize();
      flame.setRootBelow(drawing === 'flame');
    } else if (!sandwich) {
      sandwich = new Sandwich({ callers: pane('callers'),
        callees: pane('callees') }, whole, { choose, center: around });
    }
    if (isHeld) (inSandwich() ? sandwich.panes[1] : flame).canvas.focus();
  }

  function center() {
    const name = tree.names.indexOf(state.fn), text = shorten(state.fn, 60);
    sandwich.show(name, searched());
    $('callers-title').textContent = `Callers of ${text}`;
    $('callees-title').textContent = `Callees of ${text}`;
    choose(0, sandwich.panes[1]);
  }

  /* The root, the last few callers, and what is zoomed into. */
  function drawCrumbs() {
    const { first, last } = state.view, nodes = [], items = [];
    const isHeld = $('crumbs').contains(document.activeElement);
    for (let i = first; i >= 0; i = tree.parent[i]) nodes.unshift(i);
    if (last !== first) nodes.pop();
    const skipped = nodes.length > 5 ? nodes.splice(1, nodes.length - 4) : [];
    for (const i of inSandwich() ? [] : nodes) {
      const name = tree.nameOf(i), item = element('li', '');
      item.append(element('button', shorten(name, 32),
        { type: 'button', title: name }));
      item.firstChild.addEventListener('click', () => zoom(tree.view(i)));
      items.push(item);
    }
    if (skipped.length > 0 && items.length > 0)
      items.splice(1, 0, element('li', '…'));
    if (inSandwich()) items.push(element('li', 'callers and callees'));
    else if (last !== first) items.push(element('li', 'narrow frames'));
    items[items.length - 1].setAttribute('aria-current', 'location');
    $('crumbs').replaceChildren(...items);
    if (isHeld) items[items.length - 1].querySelector('button')?.focus();
  }

  const searched = () => state.query ? matcher(state.query).test : null;

  /* The selected function in the picture. Of a function that another part of
   * the page selected, the heaviest frame of the view is described. */
  function drawPicked(isOther) {
    const { fn, view } = state;
    flame.setPicked(fn ? tree.mark(s => s === fn) : null);
    if (inSandwich()) return;
    if (chosen.flame === flame && fn && tree.nameOf(chosen.node) === fn)
      return;
    const node = fn ? tree.heaviestOf(tree.names.indexOf(fn), view) : -1;
    if (fn || isOther || chosen.node > 0 || chosen.flame !== flame)
      choose(node >= 0 ? node : view.first);
  }

  function drawMarks() {
    const { query } = state, typed = matcher(query);
    marks = query ? tree.mark(typed.test) : null;
    flame.setMarks(marks);
    if (sandwich) sandwich.mark(searched());
    const error = query && typed.error;
    const ofView = marks && state.view.first > 0 && !inSandwich() ? `, ${
      percent(tree.marked(marks, state.view), state.view.width)} of the view`
      : '';
    const found = !marks ? '' : marks.frames === 0 ? 'No match'
      : `${percent(marks.total, tree.all)} matched${ofView} · ` +
        `${quantity(marks.total, tree.unit)} · ` +
        `${marks.frames.toLocaleString('en')} frame` +
        (marks.frames === 1 ? '' : 's');
    $('matched').textContent = found + (error ? ` (${error})` : '');
    $('search').classList.toggle('invalid', Boolean(error));
    $('found').hidden = !marks || marks.frames === 0;
    if ($('search').value !== query) $('search').value = query;
  }

  function drawTools() {
    const { view, query, fn, drawing } = state;
    for (const name of DRAWINGS)
      $(name).setAttribute('aria-pressed', name === drawing);
    const at = document.activeElement, isWhole = view.first === 0 && !query &&
      !fn && state.filters.length === 0;
    aim();
    $('more-actions').disabled = !fn;
    $('order').setAttribute('aria-pressed', state.isHeavy);
    if (!state.table && $('top').contains(at)) $('aside').focus();
    if (isWhole && at === $('reset')) flame.canvas.focus();
    $('aside').setAttribute('aria-pressed', state.table);
    $('top').hidden = !state.table;
    $('reset').disabled = isWhole;
  }

  /* --- one frame ---------------------------------------------------------- */

  function choose(node, on = flame) {
    const { tree: of, view } = on;
    const lines = of.describe(node, view).join(' · ');
    chosen = { node, flame: on };
    on.choose(node);
    $('chosen').textContent = $('chosen').title = of.nameOf(node);
    const source = of.sourceOf(of.name[node]);
    const takers = doc.base ? [] : whole.takers(of.name[node]).slice(0, 3);
    const parts = [of.packageOf(node), source && placed(source), lines,
      takers.length > 0 && `waits in ${takers.map(([name, part]) =>
        `${shorten(name, 40)} ${percent(part, 1)}`).join(', ')}`,
      on === flame && whole.everywhere(of.name[node])].filter(Boolean);
    $('numbers').replaceChildren(...parts.flatMap((part, i) =>
      i > 0 ? [' · ', part] : [part]));
    $('numbers').title = source;
    say(`${of.nameOf(node)}. ${lines}`);
  }

  /* A place in the source, as a link if the service's repository is known. */
  function placed(place, text = place) {
    const href = linked(place);
    return href ? element('a', text, { href, title: `${place}\n${href}`,
      target: '_blank', rel: 'noopener noreferrer' }) : text;
  }

  const say = text => { $('live').textContent = text; };

  function toast(text) {
    clearTimeout(toast.timer);
    $('toast').textContent = text;
    toast.timer = setTimeout(() => { $('toast').textContent = ''; }, TOAST_MS);
  }

  /* The clipboard is refused to sandboxed and plain-http pages; a selection
   * can still be copied there. Failing both, the reader copies it by hand. */
  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      return toast(`${what} copied`);
    } catch (e) {
      const area = element('textarea', text, { class: 'unseen' });
      const before = document.activeElement;
      $('profile').append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      before.focus();
      if (done) return toast(`${what} copied`);
    }
    $('by-hand-text').value = text;
    $('by-hand').showModal();
    $('by-hand-text').select();
  }

  const copyName = () => copy(chosen.flame.tree.nameOf(chosen.node), 'Name');

  function copyStack() {
    const { node, flame: on } = chosen;
    const names = on !== flame ? sandwich.stack(node, on)
      : shown === turned ? tree.path(node).reverse() : tree.path(node);
    copy(names.join('\n'), 'Stack');
  }

  function nextMatch(step) {
    const on = inSandwich() ? chosen.flame : flame;
    const { tree: of, view: { first, end }, marks: found } = on;
    const n = end - first;
    for (let k = 1; found && k <= n; k++) {
      const i = first + ((on.chosen - first + step * k) % n + n) % n;
      if (i > 0 && found.names[of.name[i]])
        return on === flame ? pick(i) : choose(i, on);
    }
  }

  /* --- keys, theme, start ------------------------------------------------- */

  const KEYS = {
    Escape: takeBack,
    Backspace: zoomOut,
    '/': () => $('search').focus(),
    '?': () => $('keys').showModal(),
    n: () => nextMatch(1),
    N: () => nextMatch(-1),
    c: copyName,
    C: copyStack,
    l: () => turnLines(),
    i: () => turnLines('code'),
    m: openMenuBelow,
    k: turnColors,
    o: turnOrder,
    s: () => table.held ? around(table.held.dataset.name) : toSandwich(),
    v: () => set({ drawing: state.drawing === 'icicle' ? 'flame' : 'icicle' }),
    b: () => set({ drawing: 'bottomup' }),
    w: nextShape,
    f: () => {
      $('kinds').open = true;
      $('kinds').querySelector('#found:not([hidden]) button, input').focus();
    },
    t: () => set({ table: !state.table }),
    e: () => {
      $('export').open = true;
      $('formats').querySelector('a, button').focus();
    },
    d: turnTheme,
  };

  function onKey(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || document.querySelector(
      'dialog[open]')) return;
    const list = ['columns', 'kinds'].map($).find(l => l.open);
    if (e.key === 'Escape' && list) {
      list.open = false;
      return list.firstElementChild.focus();
    }
    if (e.target !== $('search') &&
        e.target.matches?.('input, select, textarea')) return;
    if (e.key === 'Escape' && $('export').open) return closeExport(true);
    if (e.target === $('search')) {
      if (e.key === 'Enter') nextMatch(e.shiftKey ? -1 : 1);
      if (e.key !== 'Escape') return;
      e.preventDefault();
      chosen.flame.canvas.focus();
      return set({ query: '' });
    }
    if (!KEYS[e.key]) return;
    e.preventDefault();
    KEYS[e.key]();
  }

  function closeExport(focus) {
    $('export').open = false;
    if (focus) $('export').firstElementChild.focus();
  }

  function repaint() {
    flame.readTheme();
    drawLegend();
    if (sandwich) sandwich.readTheme();
    showTable();
  }

  /* The reason why there is nothing to draw; empty if there is something. */
  function emptiness(doc) {
    if (!doc) return 'The data of this page is damaged.';
    const total = Math.max(doc.total, doc.base ? doc.base.total : 0);
    if (total > 0 && doc.depth.length > 1) return '';
    const { reasons = [] } = doc.base ? {} : doc.quality;
    if (reasons.length > 0)
      return `This profile is empty: ${visible(reasons.join('; '))}.`;
    const time = quantity(doc.durationMs * 1e6, 'nanoseconds');
    return `Nothing was sampled in ${time}: the service was idle, or it did ` +
      `nothing that profiles of type ${doc.type} count.`;
  }

  function listen() {
    const { signal } = ended;
    const on = (id, event, action) => $(id).addEventListener(event, action);
    on('search', 'input', () => set({ query: $('search').value }));
    on('reset', 'click', reset);
    for (const button of $('found').querySelectorAll('button'))
      button.addEventListener('click', () => leaveOutFound(button.value));
    on('icicle', 'click', () => set({ drawing: 'icicle' }));
    on('flame', 'click', () => set({ drawing: 'flame' }));
    on('bottomup', 'click', KEYS.b);
    on('sandwich', 'click', toSandwich);
    on('center', 'click', toSandwich);
    on('order', 'click', KEYS.o);
    on('aside', 'click', KEYS.t);
    on('help', 'click', KEYS['?']);
    on('copy', 'click', copyName);
    on('copy-stack', 'click', copyStack);
    document.addEventListener('keydown', onKey, { signal });
    document.addEventListener('stoker-theme', repaint, { signal });
    document.addEventListener('click', e => {
      if (!$('export').contains(e.target)) closeExport(false);
      for (const id of ['columns', 'kinds'])
        if (!$(id).contains(e.target)) $(id).open = false;
      if (!$('menu').contains(e.target) && e.target !== $('more-actions'))
        closeMenu();
    }, { signal });
    $('menu').addEventListener('keydown', menuKey);
    on('more-actions', 'click', openMenuBelow);
    window.addEventListener('hashchange', () => set(recall(), ''), { signal });
  }

  /* --- the columns of the table ------------------------------------------- */

  /* Those that exist, in their order; all of two profiles. */
  function chosenColumns(wanted) {
    return Object.keys(COLUMNS).filter(column => wanted.includes(column) ||
      doc.base && USUAL.includes(column));
  }

  function drawColumns() {
    for (const box of $('columns').querySelectorAll('input'))
      box.checked = state.columns.includes(box.value);
  }

  function listenToColumns() {
    $('columns').lastElementChild.replaceChildren(
      ...Object.entries(COLUMNS).map(([column, text]) => {
        const li = element('li', ''), label = element('label', '');
        const box = element('input', '', { type: 'checkbox', value: column });
        box.addEventListener('change', () => set({ columns: chosenColumns(
          box.checked ? [...state.columns, column]
            : state.columns.filter(c => c !== column)) }));
        label.append(box, ` ${text}`);
        li.append(label);
        return li;
      }));
    drawColumns();
  }

  /* --- the width of the table --------------------------------------------- */

  /* px: a width; 0: the usual one */
  function widen(px) {
    const all = $('divider').parentElement.clientWidth;
    tableWidth = px && Math.max(LEAST_TABLE_PX,
      Math.min(px, all - LEAST_GRAPH_PX));
    $('top').style.flexBasis = tableWidth ? tableWidth + 'px' : '';
    $('divider').setAttribute('aria-valuenow',
      Math.round(100 * $('top').offsetWidth / (all || 1)));
  }

  function listenToDivider() {
    const divider = $('divider');
    const on = (event, action) => divider.addEventListener(event, action);
    on('pointerdown', e => divider.setPointerCapture(e.pointerId));
    on('pointermove', e => {
      if (divider.hasPointerCapture(e.pointerId))
        widen(divider.parentElement.getBoundingClientRect().right - e.clientX);
    });
    on('pointerup', () => showTable());
    on('dblclick', () => widen(0));
    on('keydown', e => {
      const step = { ArrowLeft: STEP_PX, ArrowRight: -STEP_PX }[e.key];
      if (!step) return;
      e.preventDefault();
      widen($('top').offsetWidth + step);
      showTable();
    });
  }

  const pane = id => ({ scroll: $(id), canvas: $(id).firstElementChild,
    spacer: $(id).lastElementChild, tip: $('tip') });

  function begin() {
    if (doc) drawAbout();
    const why = emptiness(doc);
    $('profile').classList.toggle('empty', Boolean(why));
    $('notice').textContent = why;
    $('notice').hidden = !why;
    if (why) return;
    source = whole = shown = tree = doc.base ? new DiffTree(doc) : new Tree(doc);
    if (doc.base) beginDiff();
    flame = new Flame(pane('scroll'), tree, { choose: pick, zoom,
      menu: (node, x, y) => openMenu(x, y) });
    table = new Table({
      title: $('top-title'), body: $('rows'), more: $('more'),
      heads: [...document.querySelectorAll('#top th')],
      colorOf: (name, isTotal) => flame.fills.name(name, isTotal), placed,
    }, tree, { select, order });
    if (fetched && !doc.base) lines = new Lines({ section: $('lines'),
      title: $('lines-title'), close: $('lines-close'), body: $('lines-rows'),
      choice: [...$('lines-choice').children], note: $('lines-note'), placed },
    (format, fn) => fetched(addressOf(address, format, state.filters,
      [['function', fn]])), { close: () => turnLines(),
      choose: what => set({ lines: what }) });
    state = {};
    chosen = { node: 0, flame };
    flame.resize();
    set(recall(), '');
    widen(tableWidth);
    flame.paint();
    listen();
    listenToDivider();
    listenToColumns();
  }

  /*
   * Shows newer data of the same kind: zoom, search, selection, scrolling and
   * focus stay. Returns false if it cannot, and the page has to be opened anew.
   */
  function renew(newer, at) {
    if (!whole || doc.base || newer.base || emptiness(newer)) return false;
    const path = chosen.flame === flame ? tree.path(chosen.node) : [];
    const panes = [...document.querySelectorAll('.profile .pane, .rows')];
    const scrolled = panes.map(e => e.scrollTop);
    doc = newer;
    address = at;
    drawFacts();
    source = whole = new Tree(doc);
    turned = shown = undefined;
    if (sandwich) sandwich.tree = whole;
    state = {};
    set(recall(), '');
    if (path.length > 0) choose(tree.find(path));
    panes.forEach((e, i) => { e.scrollTop = scrolled[i]; });
    return true;
  }

  begin();
  /* Shows links that have become known. */
  function relink() {
    if (whole) choose(chosen.node, chosen.flame);
  }

  return { tree, flame, renew, relink, sandwich: () => sandwich,
    close: () => { ended.abort(); holdTable(); } };
}

export { openPage };
