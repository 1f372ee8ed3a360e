/*
 * The table of top functions: the content of the picture, for people who cannot
 * see it or prefer to read. It shows the functions of the view that match the
 * search, a hundred at a time.
 *
 *   on.order(column) on.select(name of a function)
 *   parts.placed(place, text) makes a text or a link of a place
 */
import { lastPart, matcher, packaged, quantity, shorten } from './text.js';
import { element } from './flame.js';

const ROWS = 100, LETTER_PX = 7.8;
const WITH_CALLS = ' + calls';

/* Columns that can be left out, beside the function's; of one profile. */
const COLUMNS = { self: 'Self', total: 'Total', package: 'Package',
  'self-value': 'Self, in full', 'total-value': 'Total, in full',
  source: 'Source' };
const USUAL = ['self', 'total', 'package'];

class Table {
  constructor(parts, tree, on) {
    Object.assign(this, parts, { tree, on });
    for (const th of this.sorters)
      th.firstChild.addEventListener('click', () =>
        on.order(th.dataset.sort));
    this.more.addEventListener('click', () => {
      const first = this.body.rows.length;
      if (this.folded > 0) this.isUnfolded = true;
      else this.shown += ROWS;
      this.draw();
      if (this.more.hidden)
        this.body.rows[first]?.querySelector('button').focus();
    });
  }

  get sorters() { return this.heads.filter(th => th.dataset.sort); }

  /* The focused button, or null. */
  get held() {
    const at = document.activeElement;
    return this.body.contains(at) ? at : null;
  }

  /* state is the page's: view, query, fn, sort, reversed, columns. */
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
    const { tree, state, shown } = this, { test } = matcher(state.query);
    const down = tree.constructor.columns[state.sort] !== state.reversed;
    const found = this.functions.filter(r => test(tree.names[r.name]));
    const seen = this.isUnfolded || state.query ? found
      : found.filter(r => !tree.isFolded(r) || tree.names[r.name] === state.fn);
    this.folded = found.length - seen.length;
    const rows = tree.sortTop(seen, state.sort, down);
    const left = Math.max(rows.length - shown, 0), { held } = this;
    for (const th of this.heads)
      th.hidden = this.lacks(th.dataset.column);
    this.fits = Math.max(12, Math.floor(
      this.heads.find(th => th.dataset.sort === 'name').clientWidth /
        LETTER_PX) - 4);
    this.body.replaceChildren(
      ...rows.slice(0, shown).map(row => this.row(row)));
    if (held) this.hold(held);
    this.more.hidden = left + this.folded === 0;
    this.more.textContent = this.folded > 0
      ? `Show ${this.folded.toLocaleString('en')} ${
        rows.length > 0 ? 'more' : 'functions'} within chance`
      : `Show more of ${left.toLocaleString('en')}`;
    this.title.textContent = tree.constructor.title + (state.view.first > 0
      ? ' of this view, in percent of it' : state.filters.length > 0
        ? ' of what is left, in percent of it' : '');
    for (const th of this.sorters)
      th.setAttribute('aria-sort', th.dataset.sort !== state.sort ? 'none'
        : down ? 'descending' : 'ascending');
  }

  /* Returns the focus to a button that was redrawn. */
  hold({ title }) {
    const all = [...this.body.querySelectorAll('button')];
    (all.find(b => b.title === title) ??
      this.sorters.find(th => !th.hidden).firstChild)
      .focus({ preventScroll: true });
  }

  lacks(column) {
    return Boolean(column) && !this.state.columns.includes(column);
  }

  row(row) {
    const { tree } = this, tr = element('tr', '');
    const pkg = packaged(tree.packages[row.name]);
    tr.append(...tree.numbers(row, this.state.view).map(this.number),
      this.name(row),
      element('td', pkg, { title: pkg }),
      ...this.heads.filter(th => !th.dataset.sort && !th.hidden).map(th =>
        this.extra(row, th.dataset.column)));
    this.sorters.forEach((th, i) => { tr.children[i].hidden = th.hidden; });
    return tr;
  }

  /* A cell of a column by which the table is not sorted. */
  extra(row, column) {
    const { tree } = this, td = element('td', '', { class: column });
    if (column === 'source') {
      const place = tree.sourceOf(row.name);
      td.append(place && this.placed(place, lastPart(place)));
      td.title = place;
    } else {
      td.append(quantity(column === 'self-value' ? row.self : row.total,
        tree.unit));
    }
    return td;
  }

  number({ text, title, meter }) {
    const td = element('td', text, { title });
    td.style.backgroundSize = meter + ' 100%';
    return td;
  }

  name(row) {
    const name = this.tree.names[row.name], td = element('td', '');
    const dot = element('i', ''), source = this.tree.sourceOf(row.name);
    const more = row.isTotal ? WITH_CALLS : '';
    const short = shorten(name, Math.max(this.fits - more.length, 8)) + more;
    const button = element('button', short, {
      type: 'button', 'data-name': name,
      title: row.isTotal ? `${name} and what it calls`
        : source ? `${name}\n${source}` : name,
      'aria-pressed': name === this.state.fn });
    button.addEventListener('click', () => this.on.select(name));
    dot.style.background = this.colorOf(row.name, row.isTotal);
    td.append(dot, button);
    return td;
  }
}

export { COLUMNS, Table, USUAL };
