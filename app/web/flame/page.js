/*
 * A graph: the canvas and what is around it. Everything visible is one state:
 * the view, the query, the selected function, the drawing, the order, the
 * table. Every change goes through set(), which redraws the parts that depend on
 * it and writes the state to the fragment of the URL, so that a link shows the same
 * view. A page may have several graphs; each has its own state.
 *
 * There is one selection. Whatever was picked last, a frame or a row of the
 * table, is what the picture and the table mark, what the line below describes,
 * and what the sandwich shows.
 */
import { ORIGINS, matcher, packaged, quantity, percent, shorten, visible }
  from './text.js';
import { Trees } from './trees.js';
import { Flame, element } from './flame.js';
import { COLUMNS, Table, USUAL } from './table.js';
import { LISTS, Lines } from './lines.js';
import { DiffTree } from './diff.js';
import { FILTERS, RECURSION, SEEN } from './merge.js';
import { Sandwich } from './sandwich.js';
import { Sides } from './sides.js';
import { addressOf, aimFormats, facts, showFormats, showQuality,
  showVerdict } from './about.js';
import { turnTheme } from './theme.js';

/**
 * @import { AnyDoc, AnyTree, Chosen, DiffDoc, Doc, Drawing, Filter, List,
 *   Listing, Marks, On, Pane, Parts, Placed, Shape, Sort, State, Step, View,
 *   What } from './types'
 * @typedef {'pushState' | 'replaceState'} Keep
 * @typedef {Pick<State, 'filters' | 'drawing' | 'fn' | 'isHeavy'>} Wanted
 */

/** @type {Drawing[]} */
const DRAWINGS = ['icicle', 'flame', 'sides', 'bottomup', 'sandwich'];
const SHAPES = /** @type {Shape[]} */ (Object.keys(DiffTree.shapes));
const TOAST_MS = 2500, QUERY_MOST = 400;
const DROPPED = /** @type {const} */ (['columns', 'kinds']);
const PACKAGES = 8; /* in the legend */
const LEAST_TABLE_PX = 240, LEAST_GRAPH_PX = 320, STEP_PX = 32;

let tableWidth = 0; /* as set by the reader; also used for the next profile */

/* The elements of graphs; keys apply to the one used last. */
/** @type {HTMLElement[]} */
let opened = [];
/** @param {HTMLElement} root */
const isInUse = root => opened.at(-1) === root;

/* Attributes that name another element by its id. In page.html they name
 * parts; each graph has separate ones. */
const REFERENCES = ['aria-labelledby', 'aria-describedby', 'aria-controls',
  'for'];
let graphs = 0;

/** @param {HTMLElement} root */
function partsOf(root) {
  const parts = new Map([...root.querySelectorAll('[part]')].map(e =>
    [e.getAttribute('part'), e]));
  graphs++;
  for (const attribute of REFERENCES)
    for (const e of root.querySelectorAll(`[${attribute}]`)) {
      const name = e.getAttribute(attribute), part = parts.get(name);
      if (part) e.setAttribute(attribute, part.id = `${name}-${graphs}`);
    }
  return parts;
}

/**
 * An item of a menu, or none.
 *
 * @param {string | undefined} text @param {() => void} action
 * @returns {[string, () => void][]}
 */
const item = (text, action) => text ? [[text, action]] : [];

/*
 * Shows one or two profiles in the elements of page.html, which are in root.
 * address is the URL of the profile's other formats; '' without a server.
 * fetched(url) resolves to the JSON at a URL; pages that may not call the
 * server lack it. linked(place) is the address of "file:line", or ''. prefix
 * distinguishes the parameters of one graph in the fragment from those of
 * others; hasTable: whether there is a table at first; newWorker() starts
 * serve() of trees.js, for large profiles. Call close() of the result to end,
 * and renew() to show newer data in the same view. The event stoker-function
 * bubbles from root with the name of the selected function, or ''.
 */
/**
 * @param {HTMLElement} root
 * @param {AnyDoc} doc
 * @param {{ address?: string, prefix?: string, hasTable?: boolean,
 *   fetched?: (url: string) => Promise<unknown>,
 *   linked?: (place: string) => string, newWorker?: () => Worker }} [options]
 */
function openPage(root, doc, { address = '', prefix = '', hasTable = true,
  fetched, linked = () => '', newWorker } = {}) {
  const ended = new AbortController(), parts = partsOf(root);
  /** @template {keyof Parts} K @param {K} part */
  const $ = part => /** @type {Parts[K]} */ (parts.get(part));
  /* The trees: as captured, without what filters leave out, and as shown. */
  /** @type {Trees} */ let trees;
  /** @type {AnyTree} */ let source;
  /** @type {AnyTree} */ let whole;
  /** @type {AnyTree} */ let tree;
  /** @type {Flame} */ let flame;
  /** @type {Sandwich | undefined} */ let sandwich;
  /** @type {Sides | undefined} */ let sides;
  /** @type {Table} */ let table;
  /** @type {Lines | undefined} */ let lines;
  /** @type {State} */ let state;
  /** @type {Marks | null} */ let marks = null;
  /* a change that waits for trees, and the number of changes so far */
  /** @type {Partial<State>} */ let pending = {};
  let turns = 0;
  /** @type {Chosen} */ let chosen; /* the frame that is described */
  let tableFrame = 0, tableTimer = 0, toastTimer = 0;

  /** @param {Partial<State>} change @param {Keep | ''} [keep] */
  function set(change, keep = 'replaceState', then = () => {}) {
    Object.assign(pending, change);
    whenMade(trees, { ...state, ...pending }, () => {
      const all = pending;
      pending = {};
      apply(all, keep);
      then();
    });
  }

  /* Calls then() when the trees of a state are ready, unless another change
   * comes first. */
  /** @param {Trees} of @param {Wanted} wanted @param {() => void} then */
  function whenMade(of, wanted, then) {
    const mine = ++turns, panes = root.querySelector('.panes');
    const isLatest = () => mine === turns && !ended.signal.aborted;
    of.prepare([withoutLeftOut(wanted), stepsTo(wanted),
      ...wanted.drawing === 'sandwich' ? stepsAround(wanted) : []], () => {
      if (!isLatest()) return;
      panes?.removeAttribute('aria-busy');
      then();
    }, () => panes?.setAttribute('aria-busy', 'true'));
  }

  /** @param {Wanted} wanted @returns {Step[]} */
  const withoutLeftOut = ({ filters }) =>
    filters.length > 0 ? [['filtered', filters]] : [];
  /** @param {Wanted} wanted @returns {Step[]} */
  const stepsTo = wanted => [...withoutLeftOut(wanted),
    .../** @type {Step[]} */ (wanted.drawing === 'bottomup'
      ? [['bottomUp']] : []),
    .../** @type {Step[]} */ (wanted.isHeavy ? [['heavyFirst']] : [])];
  /** @param {Wanted} wanted @returns {Step[][]} */
  const stepsAround = wanted => {
    const before = withoutLeftOut(wanted);
    const name = source.names.indexOf(wanted.fn);
    return [[...before, ['callers', name]], [...before, ['callees', name]]];
  };

  /** @param {Partial<State>} change @param {Keep | ''} keep */
  function apply(change, keep) {
    const old = state, wanted = { ...old, ...change };
    whole = trees.of(withoutLeftOut(wanted));
    const isOther = enter(trees.of(stepsTo(wanted)));
    state = { ...old, ...isOther ? { view: tree.view(0) } : {}, ...change };
    /** @param {(keyof State)[]} keys */
    const differs = (...keys) => keys.some(k => state[k] !== old[k]);
    if (differs('shape')) reshape();
    if (differs('drawing')) redraw();
    if (differs('view')) for (const on of pictures()) on.show(state.view);
    if (differs('query', 'drawing', 'view')) drawMarks();
    if (differs('fn', 'drawing', 'view')) drawPicked(differs('view'));
    if (inSandwich() && differs('fn', 'drawing', 'shape')) center();
    if (inSides()) sides?.drawTitles(state.fn);
    if (differs('view', 'fn', 'drawing')) drawCrumbs();
    if (differs('fn')) root.dispatchEvent(new CustomEvent('stoker-function',
      { bubbles: true, detail: state.fn }));
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

  /* Shows a tree. Returns false if it is already shown. */
  /** @param {AnyTree} next */
  function enter(next) {
    if (next === tree) return false;
    tree = next;
    if (tree instanceof DiffTree) tree.setShape(state.shape ?? tree.firstShape);
    for (const on of pictures()) on.setTree(tree);
    table.tree = tree;
    choose(0);
    drawCut();
    return true;
  }

  /* Keeps the zoom. */
  function turnOrder() {
    const path = tree.path(state.view.first);
    set({ isHeavy: !state.isHeavy }, 'replaceState', () => {
      if (path.length > 0) set({ view: tree.view(tree.find(path)) });
    });
  }

  /** @type {Record<What, string>} */
  const FILTERED = { focus: 'only', hide: 'without', fold: 'folded:',
    'fold-package': 'folded:', 'fold-kind': 'folded:',
    'focus-text': 'only like', 'hide-text': 'without like',
    'fold-text': 'folded like' };

  /*
   * Shows the filters in effect, each with a way to remove it, and how much of
   * the profile they leave.
   */
  function drawFilters() {
    /** @type {(HTMLElement | string)[]} */
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
    const { byOrigin } = source.style;
    /** @type {Map<string, number>} */
    const spent = new Map();
    /** @type {Map<string, number>} */
    const colored = new Map();
    /** @param {number} name */
    const groupOf = name => byOrigin ? whole.originOf(name)
      : whole.packages[name];
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
      dot.style.background = flame.fills.name(colored.get(group) ?? 0);
      item.append(dot, `${byOrigin
        ? ORIGINS[/** @type {keyof typeof ORIGINS} */ (group)]
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

  /** @param {Filter[]} filters */
  const leave = filters => set({ filters, drawing: inSandwich() ? 'icicle'
    : state.drawing }, 'pushState');
  /** @param {What} what @param {string} name */
  const leaveOut = (what, name) => leave([...state.filters.filter(f =>
    f[1] !== name), [what, name]]);

  /* --- kinds of code ----------------------------------------------------- */

  /** @param {string} kind */
  const isKindFolded = kind =>
    state.filters.some(f => f[0] === 'fold-kind' && f[1] === kind);

  /* Folds a kind of code, or shows it again. */
  /** @param {string} kind */
  function turnKind(kind) {
    leave(isKindFolded(kind)
      ? state.filters.filter(f => f[0] !== 'fold-kind' || f[1] !== kind)
      : [...state.filters, ['fold-kind', kind]]);
  }

  /* Shows the kinds that the profile has, each with its share of the self
   * cost. */
  function drawKinds() {
    const spent = new Float64Array(source.names.length);
    for (let i = 1; i < source.n; i++) spent[source.name[i]] += source.self[i];
    const found = source.kinds.filter(({ kind, names }) =>
      kind === RECURSION || names.length > 0);
    const at = document.activeElement;
    const held = at instanceof HTMLInputElement && $('kinds').contains(at) &&
      at.value;
    $('kinds').querySelector('ul')?.replaceChildren(...found.map(
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
    /** @type {HTMLElement | null} */
    const again = $('kinds').querySelector(`[value="${held}"]`);
    if (held) again?.focus();
  }

  /* Applies a filter to the functions that the search finds. The API takes one
   * text per filter. */
  /** @param {What} what */
  function leaveOutFound(what) {
    const { query } = state;
    set({ query: '' });
    leave([...state.filters.filter(f => f[0] !== what), [what, query]]);
    focusSummary('kinds');
  }

  /* --- the menu of a frame ----------------------------------------------- */

  /** @param {string} name */
  function kindsOf(name) {
    const i = source.names.indexOf(name);
    return source.kinds.filter(({ kind, names }) => names.includes(i) &&
      !isKindFolded(kind)).map(({ kind }) => kind);
  }

  /** @param {number} x @param {number} y */
  function openMenu(x, y) {
    const name = state.fn, menu = $('menu');
    if (!name) return;
    const pkg = source.packages[source.names.indexOf(name)];
    /** @type {[string, () => void][]} */
    const items = [
      ['Focus: only stacks through it', () => leaveOut('focus', name)],
      ['Hide stacks through it', () => leaveOut('hide', name)],
      ['Fold it into its callers', () => leaveOut('fold', name)],
      ...item(pkg && `Fold all of ${shorten(packaged(pkg), 30)}`, () =>
        leaveOut('fold-package', pkg)),
      ...kindsOf(name).flatMap(kind => item(`Fold all of the kind ${kind}`,
        () => turnKind(kind))),
      ...item(lines && 'Cost of each line', () => turnLines('source')),
      ...item(lines && 'Cost of each instruction', () => turnLines('code')),
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
    menu.querySelector('button')?.focus();
  }

  function closeMenu() {
    if ($('menu').hidden) return;
    const isHeld = $('menu').contains(document.activeElement);
    $('menu').hidden = true;
    if (isHeld) focusPicture();
  }

  /** @param {KeyboardEvent} e */
  function menuKey(e) {
    const items = [...$('menu').querySelectorAll('button')];
    const at = items.findIndex(item => item === document.activeElement);
    const { length: n } = items;
    /** @type {Record<string, number>} */
    const keys = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: n - 1 };
    const to = keys[e.key];
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
  /** @param {List} [what] */
  function turnLines(what = state.lines || 'source') {
    if (lines && (state.fn || state.lines))
      set({ lines: state.lines === what ? '' : what });
  }

  /* Reports what the inverted tree leaves out. */
  function drawCut() {
    const { cut } = tree;
    $('cut').hidden = cut === 0;
    $('cut').textContent = `Callers of ${cut.toLocaleString('en')} ${
      cut === 1 ? 'frame' : 'frames'} below ${SEEN * 100}% are not shown.`;
  }

  /* After a change of view, the graph is painted first, since the table takes
   * longer than a frame. */
  function showTable(isLater = false) {
    holdTable();
    if (!state.table) return;
    if (!isLater) return table.show(state);
    tableFrame = requestAnimationFrame(() => {
      tableTimer = setTimeout(() => table.show(state));
    });
  }

  function holdTable() {
    cancelAnimationFrame(tableFrame);
    clearTimeout(tableTimer);
  }

  const inSandwich = () => state.drawing === 'sandwich';
  const inSides = () => state?.drawing === 'sides';
  /* The parts that show the whole tree. */
  const pictures = () => inSides() && sides ? [flame, sides] : [flame];
  const focusPicture = () => (inSides() && sides ? sides.panes[1]
    : chosen.flame).canvas.focus();
  /** @param {View} view */
  const zoom = view => set({ view }, 'pushState');
  /** @param {Sort} column */
  const order = column => set(column === state.sort
    ? { reversed: !state.reversed } : { sort: column, reversed: false });
  /** @param {string} name */
  const around = name => set({ drawing: 'sandwich', fn: name }, 'pushState');

  /** @param {string} name */
  function select(name) {
    if (inSandwich()) around(name);
    else set({ fn: name === state.fn ? '' : name });
  }

  /* Selects the function of a frame in the picture. */
  /** @param {number} node */
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

  /* Opens the sandwich of the selected function, or of the most expensive one.
   * Within a sandwich, opens that of the described frame. */
  function toSandwich() {
    const { node, flame: on } = chosen;
    if (inSandwich() && node > 0) return around(on.tree.nameOf(node));
    if (state.fn) return around(state.fn);
    const [top] = tree.sortTop(tree.top(state.view), tree.common.sort, true);
    if (top) around(tree.names[top.name]);
  }

  /* --- the address ------------------------------------------------------- */

  /* Ignores functions and kinds that the profile does not have. */
  /** @param {[string, string]} parameter */
  function isFilter([what, name]) {
    if (!FILTERS.some(filter => filter === what)) return false;
    if (what.endsWith('-text')) return name !== '' && name.length <= QUERY_MOST;
    return (what === 'fold-package' ? source.packages : what === 'fold-kind'
      ? source.kinds.map(k => k.kind) : source.names).includes(name);
  }

  /* The fragment holds the parameters of all graphs. */
  const fragment = () => new URLSearchParams(location.hash.slice(1));
  /** @param {string} key */
  const isOwn = key => prefix ? key.startsWith(prefix) : !key.includes('.');

  /** @param {Keep} how */
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
    if (state.shape && tree instanceof DiffTree &&
        state.shape !== tree.firstShape) q.set('shape', state.shape);
    if (state.sort !== tree.common.sort || state.reversed)
      q.set('sort', (state.reversed ? '-' : '') + state.sort);
    if (state.table !== hasTable) q.set('table', state.table ? '1' : '0');
    if (state.lines) q.set('lines', state.lines);
    if (String(state.columns) !== String(chosenColumns(USUAL)))
      q.set('columns', String(state.columns));
    const all = new URLSearchParams([...fragment()].filter(([key]) =>
      !isOwn(key)));
    for (const [key, value] of q) all.append(prefix + key, value);
    const url = String(all) ? '#' + all : location.pathname + location.search;
    if (url === (location.hash || location.pathname + location.search)) return;
    try {
      history[how](null, '', url);
    } catch (e) {
      /* A document without a URL (srcdoc) cannot keep state. */
    }
  }

  /* The parameters of this graph. */
  const own = () => new URLSearchParams([...fragment()].filter(([key]) =>
    isOwn(key)).map(([key, value]) => [key.slice(prefix.length), value]));

  /* The part of a state that determines the trees. */
  /** @param {URLSearchParams} q @returns {Wanted} */
  function wantedBy(q) {
    const fn = q.get('fn') || '';
    const filters = /** @type {Filter[]} */ ([...q].filter(isFilter));
    const asked = DRAWINGS.find(drawing => drawing === q.get('view'));
    const drawing = !asked || asked === 'sandwich' && !source.names.includes(fn)
      || asked === 'sides' && !doc.base ? 'icicle' : asked;
    return { filters, drawing, fn, isHeavy: q.get('order') === 'weight' };
  }

  /* Shows the state in the fragment. */
  function follow() {
    const q = own();
    whenMade(trees, wantedBy(q), () => {
      pending = {};
      apply(recall(q), '');
    });
  }

  /** @param {URLSearchParams} q @returns {State} */
  function recall(q) {
    const wanted = wantedBy(q), tree = trees.of(stepsTo(wanted));
    const first = tree.find(q.getAll('z')), sort = q.get('sort') || '';
    const column = /** @type {Sort} */ (sort.replace('-', ''));
    const last = q.get('to'), lines = q.get('lines') ?? '';
    return {
      view: last !== null ? tree.range(first, last) : tree.view(first),
      query: (q.get('q') || '').slice(0, QUERY_MOST), ...wanted,
      byOrigin: q.get('colors') === 'origin',
      shape: tree instanceof DiffTree ? SHAPES.find(shape =>
        shape === q.get('shape')) ?? tree.firstShape : undefined,
      sort: Object.hasOwn(tree.common.columns, column) ? column
        : tree.common.sort,
      reversed: sort.startsWith('-'),
      table: q.has('table') ? q.get('table') !== '0' : hasTable,
      columns: chosenColumns(q.get('columns')?.split(',') ?? USUAL),
      lines: lines === '1' ? 'source' : Object.hasOwn(LISTS, lines)
        ? /** @type {List} */ (lines) : '',
    };
  }

  /* --- parts -------------------------------------------------------------- */

  function drawAbout() {
    $('service').textContent = doc.service || doc.title || 'Profile';
    $('type').textContent = doc.type;
    drawFacts();
  }

  function drawFacts() {
    $('facts').replaceChildren(...facts(doc, DiffTree.facts));
    showQuality($('quality'), doc);
    showFormats($('formats'), doc, address,
      () => inSides() && sides ? sides.canvas()
        : (inSandwich() && sandwich ? sandwich.panes[1] : flame).canvas);
  }

  /* The server does not know paths of an inverted tree. */
  function aim() {
    const isServers = ['icicle', 'flame'].includes(state.drawing);
    if (!doc.base) aimFormats($('formats'),
      isServers ? tree.path(state.view.first) : [], state.query,
      state.filters);
  }

  /* --- two profiles ------------------------------------------------------- */

  /* Keeps the view, with the widths of the other side. */
  function reshape() {
    if (!(tree instanceof DiffTree) || !state.shape) return;
    const { first, end } = state.view;
    tree.setShape(state.shape);
    state.view = tree.view(first, end);
    $('shape').textContent = 'Widths: ' + DiffTree.shapes[state.shape];
  }

  function nextShape() {
    const { shape } = state;
    if (shape) set({ shape: SHAPES[
      (SHAPES.indexOf(shape) + 1) % SHAPES.length] });
  }

  /** @param {DiffDoc} doc */
  function beginDiff(doc) {
    root.classList.add('diff');
    $('legend').hidden = $('sides').hidden = false;
    showVerdict($('verdict'), doc, fn => set({ fn, view: tree.view(0),
      drawing: inSandwich() ? 'icicle' : state.drawing }, 'pushState'));
    $('legend').replaceChildren(...DiffTree.legend(doc).map(([kind, text]) => {
      const item = element('li', '');
      if (kind) item.append(element('i', '', { class: kind }));
      item.append(text);
      return item;
    }));
    const head = $('top').querySelector('thead tr');
    const numbers = DiffTree.heads.map(([key, title]) => {
      const th = element('th', '', { scope: 'col', 'data-sort': key });
      th.append(element('button', title, { type: 'button' }));
      return th;
    });
    head?.replaceChildren(...numbers, ...[...head.children].slice(2, 4));
    $('columns').hidden = true;
    $('shape').addEventListener('click', nextShape);
  }

  /* --- the picture -------------------------------------------------------- */

  /** @type {On} */
  const pictured = { choose: pick, zoom, menu: (_, x, y) => openMenu(x, y) };

  function redraw() {
    const { drawing } = state, isHeld = [$('scroll'), $('sandwich-panes'),
      $('sides-panes')].some(part => part.contains(document.activeElement));
    $('scroll').hidden = inSandwich() || inSides();
    $('sandwich-panes').hidden = !inSandwich();
    $('sides-panes').hidden = !inSides();
    $('shape').hidden = !doc.base || inSides();
    root.classList.toggle('paired', inSides());
    if (inSides()) showSides();
    else if (!inSandwich()) {
      flame.resize();
      flame.setRootBelow(drawing === 'flame');
    } else if (!sandwich) {
      sandwich = new Sandwich({ callers: pane('callers'),
        callees: pane('callees') }, tree, { choose, center: around });
    }
    if (isHeld) (sandwich && inSandwich() ? sandwich.panes[1]
      : sides && inSides() ? sides.panes[1] : flame).canvas.focus();
  }

  function showSides() {
    if (!doc.base || !(tree instanceof DiffTree)) return;
    sides ??= new Sides([pane('base'), pane('comparison')],
      [$('base-title'), $('comparison-title')], doc, tree, pictured);
    sides.setTree(tree);
    sides.show(state.view);
  }

  function center() {
    if (!sandwich) return;
    const text = shorten(state.fn, 60);
    const both = stepsAround(state).map(steps => trees.of(steps));
    for (const of of both)
      if (of instanceof DiffTree && state.shape) of.setShape(state.shape);
    sandwich.show(both, searched());
    $('callers-title').textContent = `Callers of ${text}`;
    $('callees-title').textContent = `Callees of ${text}`;
    choose(0, sandwich.panes[1]);
  }

  /* Shows the root, the last few callers, and the zoomed frame. */
  function drawCrumbs() {
    const { first, last } = state.view, nodes = [], items = [];
    const isHeld = $('crumbs').contains(document.activeElement);
    for (let i = first; i >= 0; i = tree.parent[i]) nodes.unshift(i);
    if (last !== first) nodes.pop();
    const skipped = nodes.length > 5 ? nodes.splice(1, nodes.length - 4) : [];
    for (const i of inSandwich() ? [] : nodes) {
      const name = tree.nameOf(i), item = element('li', '');
      const button = element('button', shorten(name, 32),
        { type: 'button', title: name });
      button.addEventListener('click', () => zoom(tree.view(i)));
      item.append(button);
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

  /* Marks the selected function in the picture. If another part of the page
   * selected it, its heaviest frame in the view is described. */
  /** @param {boolean} isOther */
  function drawPicked(isOther) {
    const { fn, view } = state;
    for (const on of pictures())
      on.setPicked(fn ? tree.mark(s => s === fn) : null);
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
    for (const on of pictures()) on.setMarks(marks);
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
      $(name).setAttribute('aria-pressed', String(name === drawing));
    const at = document.activeElement, isWhole = view.first === 0 && !query &&
      !fn && state.filters.length === 0;
    aim();
    $('more-actions').disabled = !fn;
    $('order').setAttribute('aria-pressed', String(state.isHeavy));
    if (!state.table && $('top').contains(at)) $('aside').focus();
    if (isWhole && at === $('reset')) flame.canvas.focus();
    $('aside').setAttribute('aria-pressed', String(state.table));
    $('top').hidden = !state.table;
    $('reset').disabled = isWhole;
  }

  /* --- one frame ---------------------------------------------------------- */

  /** @param {number} node @param {Flame} [on] */
  function choose(node, on = flame) {
    const { tree: of, view } = on;
    const lines = of.describe(node, view).join(' · ');
    chosen = { node, flame: on };
    for (const one of on === flame ? pictures() : [on]) one.choose(node);
    $('chosen').textContent = $('chosen').title = of.nameOf(node);
    const source = of.sourceOf(of.name[node]);
    const takers = doc.base ? [] : whole.takers(of.name[node]).slice(0, 3);
    const told = [of.packageOf(node), source && placed(source), lines,
      takers.length > 0 && `waits in ${takers.map(([name, part]) =>
        `${shorten(name, 40)} ${percent(part, 1)}`).join(', ')}`,
      on === flame && whole.everywhere(of.name[node])].flatMap(part =>
      part ? [' · ', part] : []).slice(1);
    $('numbers').replaceChildren(...told);
    $('numbers').title = source;
    say(`${of.nameOf(node)}. ${lines}`);
  }

  /* A place in the source, as a link if the service's repository is known. */
  /** @type {Placed} */
  function placed(place, text = place) {
    const href = linked(place);
    return href ? element('a', text, { href, title: `${place}\n${href}`,
      target: '_blank', rel: 'noopener noreferrer' }) : text;
  }

  /** @param {string} text */
  const say = text => { $('live').textContent = text; };

  /** @param {string} text */
  function toast(text) {
    clearTimeout(toastTimer);
    $('toast').textContent = text;
    toastTimer = setTimeout(() => { $('toast').textContent = ''; }, TOAST_MS);
  }

  /* Sandboxed and plain-http pages may not use the clipboard; a selection can
   * still be copied there. If both fail, the reader copies it by hand. */
  /** @param {string} text @param {string} what */
  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      return toast(`${what} copied`);
    } catch (e) {
      const area = element('textarea', text, { class: 'unseen' });
      const before = /** @type {HTMLElement} */ (document.activeElement);
      root.append(area);
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
    const names = on !== flame && sandwich ? sandwich.stack(node, on)
      : state.drawing === 'bottomup' ? tree.path(node).reverse()
        : tree.path(node);
    copy(names.join('\n'), 'Stack');
  }

  /** @param {number} step */
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

  /** @type {Record<string, () => void>} */
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
    s: () => table.held?.dataset.name ? around(table.held.dataset.name)
      : toSandwich(),
    v: () => set({ drawing: state.drawing === 'icicle' ? 'flame' : 'icicle' }),
    b: () => set({ drawing: 'bottomup' }),
    w: nextShape,
    p: () => doc.base && set({ drawing: inSides() ? 'icicle' : 'sides' }),
    f: () => {
      $('kinds').open = true;
      firstIn('kinds', '[part=found]:not([hidden]) button, input')?.focus();
    },
    t: () => set({ table: !state.table }),
    e: () => {
      $('export').open = true;
      firstIn('formats', 'a, button')?.focus();
    },
    d: turnTheme,
  };

  /** @param {KeyboardEvent} e */
  function onKey(e) {
    if (!isInUse(root) || e.ctrlKey || e.altKey || e.metaKey ||
        document.querySelector('dialog[open]')) return;
    const list = DROPPED.find(part => $(part).open);
    if (e.key === 'Escape' && list) {
      $(list).open = false;
      return focusSummary(list);
    }
    if (e.target !== $('search') && e.target instanceof Element &&
        e.target.matches('input, select, textarea')) return;
    if (e.key === 'Escape' && $('export').open) return closeExport(true);
    if (e.target === $('search')) {
      if (e.key === 'Enter') nextMatch(e.shiftKey ? -1 : 1);
      if (e.key !== 'Escape') return;
      e.preventDefault();
      focusPicture();
      return set({ query: '' });
    }
    if (!KEYS[e.key]) return;
    e.preventDefault();
    KEYS[e.key]();
  }

  /** @param {typeof DROPPED[number] | 'export'} part */
  const focusSummary = part => firstIn(part, 'summary')?.focus();
  /** @param {keyof Parts} part @param {string} selector */
  const firstIn = (part, selector) =>
    /** @type {HTMLElement | null} */ ($(part).querySelector(selector));

  /* From now on, keys apply to this graph. */
  const leaveKeys = () => { opened = opened.filter(other => other !== root); };
  const use = () => {
    leaveKeys();
    opened.push(root);
  };

  /** @param {boolean} focus */
  function closeExport(focus) {
    $('export').open = false;
    if (focus) focusSummary('export');
  }

  function repaint() {
    flame.readTheme();
    drawLegend();
    sandwich?.readTheme();
    sides?.readTheme();
    showTable();
  }

  /* The reason why there is nothing to draw; empty if there is something. */
  /** @param {AnyDoc} doc */
  function emptiness(doc) {
    if (!doc) return 'The data of this page is damaged.';
    const total = Math.max(doc.total, doc.base ? doc.base.total : 0);
    if (total > 0 && doc.depth.length > 1) return '';
    const { reasons = [] } = doc.base ? /** @type {Doc['quality']} */ ({})
      : doc.quality;
    if (reasons.length > 0)
      return `This profile is empty: ${visible(reasons.join('; '))}.`;
    const time = quantity(doc.durationMs * 1e6, 'nanoseconds');
    return `Nothing was sampled in ${time}: the service was idle, or it did ` +
      `nothing that profiles of type ${doc.type} count.`;
  }

  function listen() {
    const { signal } = ended;
    /**
     * @param {keyof Parts} part @param {string} event
     * @param {(e: Event) => void} action
     */
    const on = (part, event, action) => $(part).addEventListener(event, action);
    on('search', 'input', () => set({ query: $('search').value }));
    on('reset', 'click', reset);
    for (const button of $('found').querySelectorAll('button'))
      button.addEventListener('click', () =>
        leaveOutFound(/** @type {What} */ (button.value)));
    on('icicle', 'click', () => set({ drawing: 'icicle' }));
    on('flame', 'click', () => set({ drawing: 'flame' }));
    on('sides', 'click', () => set({ drawing: 'sides' }));
    on('bottomup', 'click', KEYS.b);
    on('sandwich', 'click', toSandwich);
    on('center', 'click', toSandwich);
    on('order', 'click', KEYS.o);
    on('aside', 'click', KEYS.t);
    on('help', 'click', KEYS['?']);
    on('copy', 'click', copyName);
    on('copy-stack', 'click', copyStack);
    for (const event of ['focusin', 'pointerdown'])
      root.addEventListener(event, use, { signal });
    document.addEventListener('keydown', onKey, { signal });
    document.addEventListener('stoker-theme', repaint, { signal });
    document.addEventListener('click', e => {
      const at = /** @type {Node} */ (e.target);
      if (!$('export').contains(at)) closeExport(false);
      for (const part of DROPPED)
        if (!$(part).contains(at)) $(part).open = false;
      if (!$('menu').contains(at) && at !== $('more-actions')) closeMenu();
    }, { signal });
    $('menu').addEventListener('keydown', menuKey);
    on('more-actions', 'click', openMenuBelow);
    window.addEventListener('hashchange', () => follow(), { signal });
  }

  /* --- the columns of the table ------------------------------------------- */

  /* Returns the wanted columns that exist, in their usual order. A comparison
   * has all usual ones. */
  /** @param {string[]} wanted */
  function chosenColumns(wanted) {
    return Object.keys(COLUMNS).filter(column => wanted.includes(column) ||
      doc.base && USUAL.includes(column));
  }

  function drawColumns() {
    for (const box of $('columns').querySelectorAll('input'))
      box.checked = state.columns.includes(box.value);
  }

  function listenToColumns() {
    $('columns').lastElementChild?.replaceChildren(
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
  /** @param {number} px */
  function widen(px) {
    const { clientWidth: all = 0 } = $('divider').parentElement ?? {};
    tableWidth = px && Math.max(LEAST_TABLE_PX,
      Math.min(px, all - LEAST_GRAPH_PX));
    $('top').style.flexBasis = tableWidth ? tableWidth + 'px' : '';
    $('divider').setAttribute('aria-valuenow',
      String(Math.round(100 * $('top').offsetWidth / (all || 1))));
  }

  function listenToDivider() {
    const divider = $('divider');
    /**
     * @param {string} event
     * @param {(e: PointerEvent & KeyboardEvent) => void} action
     */
    const on = (event, action) => divider.addEventListener(event,
      /** @type {(e: Event) => void} */ (action));
    on('pointerdown', e => divider.setPointerCapture(e.pointerId));
    on('pointermove', e => {
      if (divider.hasPointerCapture(e.pointerId))
        widen($('top').getBoundingClientRect().right - e.clientX);
    });
    on('pointerup', () => showTable());
    on('dblclick', () => widen(0));
    on('keydown', e => {
      const step = e.key === 'ArrowLeft' ? STEP_PX
        : e.key === 'ArrowRight' ? -STEP_PX : 0;
      if (!step) return;
      e.preventDefault();
      widen($('top').offsetWidth + step);
      showTable();
    });
  }

  /**
   * @param {'scroll' | 'callers' | 'callees' | 'base' | 'comparison'} part
   * @returns {Pane}
   */
  const pane = part => ({ scroll: $(part), tip: $('tip'),
    canvas: /** @type {HTMLCanvasElement} */ ($(part).firstElementChild),
    spacer: /** @type {HTMLElement} */ ($(part).lastElementChild) });

  function begin() {
    if (doc) drawAbout();
    const why = emptiness(doc);
    root.classList.toggle('empty', Boolean(why));
    $('notice').textContent = why;
    $('notice').hidden = !why;
    if (why) return;
    trees = new Trees(doc, newWorker);
    source = whole = tree = trees.source;
    if (doc.base) beginDiff(doc);
    flame = new Flame(pane('scroll'), tree, pictured);
    table = new Table({
      title: $('top-title'), body: $('rows'), more: $('more'),
      heads: [...$('top').querySelectorAll('th')],
      colorOf: (name, isTotal) => flame.fills.name(name, isTotal), placed,
    }, tree, { select, order });
    if (fetched && !doc.base) lines = new Lines({ section: $('lines'),
      title: $('lines-title'), close: $('lines-close'), body: $('lines-rows'),
      choice: [...$('lines-choice').querySelectorAll('button')],
      note: $('lines-note'), placed },
    (format, fn) => /** @type {Promise<Listing>} */ (fetched(addressOf(address,
      format, state.filters, [['function', fn]]))), { close: () => turnLines(),
      choose: what => set({ lines: what }) });
    state = /** @type {State} */ ({}); /* so that everything differs */
    chosen = { node: 0, flame };
    flame.resize();
    follow();
    if (!state.view) apply(recall(new URLSearchParams()), '');
    widen(tableWidth);
    flame.paint();
    opened.unshift(root);
    listen();
    listenToDivider();
    listenToColumns();
  }

  /*
   * Shows newer data of the same kind: zoom, search, selection, scrolling and
   * focus stay. Returns false if that is impossible, and the page has to be
   * opened again.
   */
  /** @param {AnyDoc} newer @param {string} at */
  function renew(newer, at) {
    if (!whole || doc.base || newer.base || emptiness(newer)) return false;
    const path = chosen.flame === flame ? tree.path(chosen.node) : [];
    const panes = [...root.querySelectorAll('.pane, .rows')];
    const scrolled = panes.map(e => e.scrollTop);
    const next = new Trees(newer, newWorker);
    whenMade(next, state, () => {
      trees.close();
      trees = next;
      doc = newer;
      address = at;
      drawFacts();
      source = whole = trees.source;
      state = /** @type {State} */ ({});
      apply(recall(own()), '');
      if (path.length > 0) choose(tree.find(path));
      panes.forEach((e, i) => { e.scrollTop = scrolled[i]; });
    });
    return true;
  }

  begin();
  /* Shows links that have become known. */
  function relink() {
    if (whole) choose(chosen.node, chosen.flame);
  }

  return { get tree() { return tree; }, get flame() { return flame; }, renew,
    relink, sandwich: () => sandwich, sides: () => sides,
    close: () => {
      ended.abort();
      leaveKeys();
      holdTable();
      trees?.close();
    } };
}

export { openPage };
