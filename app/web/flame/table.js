/*
 * The table of top functions: the picture's content, for people who cannot see
 * it or prefer to read. It shows the functions of the view that match the
 * search, a hundred at a time.
 *
 *   on.order(column) on.select(name of a function)
 *   parts.placed(place, text) makes a text or a link of a place
 */
import { lastPart, matcher, packaged, quantity, shorten } from './text.js';
import { element } from './flame.js';

/**
 * @import { AnyTree, Cell, Placed, Row, Sort, State } from './types'
 * @typedef {{ title: HTMLElement, body: HTMLTableSectionElement,
 *   more: HTMLElement, heads: HTMLElement[], placed: Placed,
 *   colorOf: (name: number, isTotal?: boolean) => string }} TableParts
 */

const ROWS = 100, LETTER_PX = 7.8;
const WITH_CALLS = ' + calls';

/* Columns of one profile that can be left out, besides the function. */
const COLUMNS = { self: 'Self', total: 'Total', package: 'Package',
  'self-value': 'Self, in full', 'total-value': 'Total, in full',
  source: 'Source' };
const USUAL = ['self', 'total', 'package'];

/** @param {State} state @param {string | undefined} column */
const lacks = (state, column) =>
  column !== undefined && !state.columns.includes(column);

class Table {
  /**
   * @param {TableParts} parts @param {AnyTree} tree
   * @param {{ select: (name: string) => void, order: (column: Sort) => void }} on
   */
  constructor(parts, tree, on) {
    this.parts = parts;
    this.tree = tree;
    this.on = on;
    /** @type {Row[]} */
    this.functions = [];
    this.shown = ROWS;
    this.folded = this.fits = 0;
    this.isUnfolded = false;
    /** @type {State | null} */
    this.state = null;
    for (const th of this.sorters)
      th.firstElementChild?.addEventListener('click', () =>
        on.order(/** @type {Sort} */ (th.dataset.sort)));
    this.parts.more.addEventListener('click', () => {
      const first = this.parts.body.rows.length;
      if (this.folded > 0) this.isUnfolded = true;
      else this.shown += ROWS;
      this.draw();
      if (this.parts.more.hidden)
        this.parts.body.rows[first]?.querySelector('button')?.focus();
    });
  }

  get sorters() { return this.parts.heads.filter(th => th.dataset.sort); }

  /* The focused button, or null. */
  get held() {
    const at = document.activeElement;
    return at instanceof HTMLElement && this.parts.body.contains(at) ? at
      : null;
  }

  /* state is the page's: view, query, fn, sort, reversed, columns. */
  /** @param {State} state */
  show(state) {
    if (this.state && state.view === this.state.view) {
      if (state.query !== this.state.query) this.shown = ROWS;
    } else {
      this.functions = this.tree.top(state.view);
      this.shown = ROWS;
    }
    this.state = state;
    this.draw();
  }

  draw() {
    const { tree, state, shown } = this;
    if (!state) return;
    const { test } = matcher(state.query);
    const down = tree.common.columns[state.sort] !== state.reversed;
    const found = this.functions.filter(r => test(tree.names[r.name]));
    const seen = this.isUnfolded || state.query ? found
      : found.filter(r => !tree.isFolded(r) || tree.names[r.name] === state.fn);
    this.folded = found.length - seen.length;
    const rows = tree.sortTop(seen, state.sort, down);
    const left = Math.max(rows.length - shown, 0), { held } = this;
    for (const th of this.parts.heads)
      th.hidden = lacks(state, th.dataset.column);
    const { clientWidth = 0 } = this.parts.heads.find(th =>
      th.dataset.sort === 'name') ?? {};
    this.fits = Math.max(12, Math.floor(clientWidth / LETTER_PX) - 4);
    this.parts.body.replaceChildren(
      ...rows.slice(0, shown).map(row => this.row(row, state)));
    if (held) this.hold(held);
    this.parts.more.hidden = left + this.folded === 0;
    this.parts.more.textContent = this.folded > 0
      ? `Show ${this.folded.toLocaleString('en')} ${
        rows.length > 0 ? 'more' : 'functions'} within chance`
      : `Show more of ${left.toLocaleString('en')}`;
    const { title } = this.parts;
    title.textContent = title.title = tree.common.title + (state.view.first > 0
      ? ' of this view, in percent of it' : state.filters.length > 0
        ? ' of what is left, in percent of it' : '');
    for (const th of this.sorters)
      th.setAttribute('aria-sort', th.dataset.sort !== state.sort ? 'none'
        : down ? 'descending' : 'ascending');
  }

  /* Gives the focus back to a button that was redrawn. */
  /** @param {HTMLElement} button */
  hold({ title }) {
    const all = [...this.parts.body.querySelectorAll('button')];
    (all.find(b => b.title === title) ??
      this.sorters.find(th => !th.hidden)?.querySelector('button'))
      ?.focus({ preventScroll: true });
  }

  /** @param {Row} row @param {State} state */
  row(row, state) {
    const { tree } = this, tr = element('tr', '');
    const pkg = packaged(tree.packages[row.name]);
    tr.append(...tree.numbers(row, state.view).map(this.number),
      this.name(row, state.fn),
      element('td', pkg, { title: pkg }),
      ...this.parts.heads.filter(th => !th.dataset.sort && !th.hidden).map(th =>
        this.extra(row, th.dataset.column ?? '')));
    this.sorters.forEach((th, i) => { tr.cells[i].hidden = th.hidden; });
    return tr;
  }

  /* A cell of a column by which the table is not sorted. */
  /** @param {Row} row @param {string} column */
  extra(row, column) {
    const { tree } = this, td = element('td', '', { class: column });
    if (column === 'source') {
      const place = tree.sourceOf(row.name);
      td.append(place && this.parts.placed(place, lastPart(place)));
      td.title = place;
    } else {
      td.append(quantity(column === 'self-value' ? row.self : row.total,
        tree.unit));
    }
    return td;
  }

  /** @param {Cell} cell */
  number({ text, title, meter }) {
    const td = element('td', text, { title });
    td.style.backgroundSize = meter + ' 100%';
    return td;
  }

  /** @param {Row} row @param {string} fn */
  name(row, fn) {
    const name = this.tree.names[row.name], td = element('td', '');
    const dot = element('i', ''), source = this.tree.sourceOf(row.name);
    const more = row.isTotal ? WITH_CALLS : '';
    const short = shorten(name, Math.max(this.fits - more.length, 8)) + more;
    const button = element('button', short, {
      type: 'button', 'data-name': name,
      title: row.isTotal ? `${name} and what it calls`
        : source ? `${name}\n${source}` : name,
      'aria-pressed': name === fn });
    button.addEventListener('click', () => this.on.select(name));
    dot.style.background = this.parts.colorOf(row.name, row.isTotal);
    td.append(dot, button);
    return td;
  }
}

export { COLUMNS, Table, USUAL };
