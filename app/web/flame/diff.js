/*
 * The tree of two profiles: values of the comparison and, scaled to them, of
 * the base. Widths come from either side, or from their sum. The document
 * lists the nodes and functions that changed by more than chance; nothing is
 * tested here. Pure, like model.js; colours are as in
 * app/profile/diff/diff_svg.c.
 */
import { local, quantity, percent, utc } from './text.js';
import { gather, scaled, Tree } from './model.js';

/**
 * @import { Base, Change, Columns, DiffDoc, Fills, Read, Row, Shape, Sort,
 *   Span, View } from './types'
 */

const PALE = 0.25; /* new or gone node, which may be chance */
const LEAST = 0.5; /* the smallest certain change */

/** @param {string} text */
const signed = text => (text[0] === '-' ? '\u2212' + text.slice(1)
  : '+' + text);

/* Mixes two colours, each "#rrggbb". */
/** @param {string} a @param {string} b @param {number} part */
function mix(a, b, part) {
  /** @param {string} s @param {number} i */
  const at = (s, i) => parseInt(s.slice(1 + 2 * i, 3 + 2 * i), 16);
  /** @param {number} i */
  const of = i => Math.round(at(a, i) + (at(b, i) - at(a, i)) * part);
  return `rgb(${of(0)}, ${of(1)}, ${of(2)})`;
}

class DiffTree extends Tree {
  /** @type {Float64Array} */ baseSelf;
  /** @type {Float64Array} */ baseTotal;
  /** @type {Uint8Array} */ sure;
  /** @type {Map<number, Change>} */ changes;
  /** @type {Shape} */ shape = 'after';
  /** @type {Partial<Record<Sort, boolean>>} */
  static columns = { base: true, now: true, change: true, name: false,
    package: false };
  /** @type {[Sort, string][]} */
  static heads = [['base', 'Base'], ['now', 'Comparison'],
    ['change', 'Change']];
  /** @type {Sort} */
  static sort = 'change';
  static title = 'Functions, by their own cost';
  /** @type {Record<Shape, string>} */
  static shapes = { after: 'comparison', before: 'base', both: 'both' };

  /** @param {DiffDoc} doc */
  constructor(doc) {
    super(doc);
    const { baseScale: scale } = doc;
    this.by = doc.normalize;
    this.seconds = doc.durationMs / 1000;
    this.baseTotal = scaled(doc.baseTotals, scale);
    this.baseSelf = scaled(doc.baseSelf, scale);
    this.sure = new Uint8Array(this.n);
    for (const i of doc.sure) this.sure[i] = 1;
    this.changes = new Map(doc.changes.map(c => [c.name, c]));
    this.risen = new Map(doc.risen.map(c => [c.name, c]));
    /* functions of the verdict; their frames are outlined in the verdict's
     * colour */
    /** @type {Map<number, 'more' | 'less'>} */
    this.listed = new Map();
    for (const { name, deltaPct } of doc.changes)
      this.listed.set(name, deltaPct > 0 ? 'more' : 'less');
    for (const { name } of doc.risen) this.listed.set(name, 'more');
    this.firstShape = this.total[0] > 0 ? doc.shape : 'before';
    this.setShape(this.firstShape);
  }

  /** @param {number[]} order */
  picked(order) {
    const { baseSelf, baseTotal, sure } = this;
    return { ...super.picked(order), baseSelf: gather(baseSelf, order),
      baseTotal: gather(baseTotal, order), sure: gather(sure, order) };
  }

  /** @param {Columns} columns @returns {this} */
  derive(columns) {
    const tree = super.derive(columns);
    tree.setShape(this.shape);
    return tree;
  }

  /* The same tree with other widths. */
  /** @param {Shape} shape @returns {this} */
  seenAs(shape) {
    const tree = Object.assign(Object.create(DiffTree.prototype), this);
    tree.setShape(shape);
    return tree;
  }

  /** @param {Shape} shape */
  setShape(shape) {
    this.shape = shape;
    const { total, baseTotal } = this;
    this.width = shape === 'after' ? total : shape === 'before' ? baseTotal
      : total.map((v, i) => v + baseTotal[i]);
  }

  /* The colour of a change. */
  /** @param {number} now @param {number} base @param {unknown} sure */
  change(now, base, sure) {
    if (base === 0 && now !== 0)
      return { kind: 'new', strength: sure ? 1 : PALE };
    if (now === 0 && base !== 0)
      return { kind: 'gone', strength: sure ? 1 : PALE };
    if (!sure || base <= 0 || now <= 0) return { kind: 'same', strength: 0 };
    const steps = Math.min(Math.abs(Math.log2(now / base)), 1);
    return { kind: now > base ? 'more' : 'less',
      strength: LEAST + (1 - LEAST) * steps };
  }

  /** @param {number} i */
  changeOf(i) {
    return this.change(this.total[i], this.baseTotal[i], this.sure[i]);
  }

  /** @param {Read} read @returns {Fills} */
  colors(read) {
    /** @type {Record<string, string>} */
    const palette = {};
    for (const kind of ['same', 'more', 'less', 'new', 'gone'])
      palette[kind] = read(kind);
    /** @param {{ kind: string; strength: number }} change */
    const of = ({ kind, strength }) =>
      mix(palette.same, palette[kind], strength);
    /** @param {number} name @param {boolean} [isTotal] */
    const key = (name, isTotal) => isTotal ? -1 - name : name;
    /** @type {Map<number, string> | undefined} */
    let names;
    const all = () => new Map(this.top(this.view(0)).map(row =>
      [key(row.name, row.isTotal), of(this.change(row.now, row.base,
        row.isTotal || this.changes.has(row.name)))]));
    return { node: i => of(this.changeOf(i)),
      name: (i, isTotal) => (names ??= all()).get(key(i, isTotal)) ?? '' };
  }

  /* A value in the unit in which the sides are compared. */
  /** @param {number} v */
  amount(v) {
    if (this.by === 'share') return percent(v, this.all);
    if (this.by !== 'rate') return quantity(v, this.unit);
    return quantity(v / this.seconds, this.unit) + '/s';
  }

  /** @param {number} now @param {number} base */
  delta(now, base) {
    const { by, all, unit, seconds } = this, d = now - base;
    if (by === 'share') return signed((100 * d / all).toFixed(2)) + ' pt';
    const text = quantity(by === 'rate' ? d / seconds : d, unit);
    return signed(text) + (by === 'rate' ? '/s' : '');
  }

  /* A change in percent of the base. */
  /** @param {number} now @param {number} base */
  relative(now, base) {
    return base === 0 ? 'new' : now === 0 ? 'gone'
      : signed((100 * (now / base - 1)).toFixed(1)) + '%';
  }

  /**
   * @param {string} what @param {number} now @param {number} base
   * @param {string} note
   */
  line(what, now, base, note) {
    if (now === 0 && base === 0) return `${what} none on either side`;
    return `${what} ${this.amount(base)} → ${this.amount(now)}: ` +
      `${this.delta(now, base)} (${this.relative(now, base)}${note})`;
  }

  /** @param {number} i @param {View} view */
  describe(i, view) {
    const lines = [this.line('Total', this.total[i], this.baseTotal[i],
      this.sure[i] ? '' : ', may be chance'),
    this.line('Self', this.self[i], this.baseSelf[i], '')];
    if (this.isWithin(i, view))
      lines.push(`${percent(this.width[i], view.width)} of the view`);
    return lines;
  }

  /** @param {number} name */
  everywhere(name) {
    let frames = 0, now = 0, base = 0;
    for (let i = 1; i < this.n; i++) {
      if (this.name[i] !== name) continue;
      frames++;
      now += this.self[i];
      base += this.baseSelf[i];
    }
    return frames < 2 ? '' : this.line(`all its ${
      frames.toLocaleString('en')} frames: self`, now, base, '');
  }

  /** @param {number} i */
  brief(i) {
    return this.delta(this.total[i], this.baseTotal[i]);
  }

  /* The cost of a function and its callees in a view; the outermost call of a
   * recursive function includes all of its cost. */
  /** @param {number} name @param {Span} view */
  totalOf(name, view) {
    const row = { name, isTotal: true, self: 0, total: 0, now: 0, base: 0 };
    for (let i = Math.max(view.first, 1); i < view.end;
      i = this.name[i] === name ? this.end[i] : i + 1) {
      if (this.name[i] !== name) continue;
      row.now += this.total[i];
      row.base += this.baseTotal[i];
    }
    return row;
  }

  /* Functions of a view, by their own cost, and those that cost more together
   * with their callees. */
  /** @param {Span} view */
  top(view) {
    const rows = new Map();
    for (let i = Math.max(view.first, 1); i < view.end; i++) {
      const name = this.name[i];
      let row = rows.get(name);
      if (!row) rows.set(name, row = { name, self: 0, total: 0, now: 0,
        base: 0 });
      row.now += this.self[i];
      row.base += this.baseSelf[i];
    }
    for (const row of rows.values()) row.self = row.now;
    return [...rows.values(), ...[...this.risen.keys()].map(name =>
      this.totalOf(name, view)).filter(row => row.now + row.base > 0)];
  }

  /* Totals of a view: the comparison's and the base's. */
  /** @param {Span} view */
  sums({ first, end }) {
    let now = 0, base = 0;
    for (let i = first; i < end; i = this.end[i]) {
      now += this.total[i];
      base += this.baseTotal[i];
    }
    return [now, base];
  }

  /* Rows that may be due to chance are folded away. */
  /** @param {Row} row */
  isFolded({ name, isTotal }) {
    return !(isTotal ? this.risen : this.changes).has(name);
  }

  /** @param {Row} row @param {Sort} key */
  rank(row, key) {
    return key === 'change' ? Math.abs(row.now - row.base)
      : row[/** @type {'now' | 'base'} */ (key)];
  }

  /* The mark of functions that moved by more than chance. */
  /** @param {Row} row @param {View} view */
  numbers(row, view) {
    const { now, base, isTotal } = row;
    const change = (isTotal ? this.risen : this.changes).get(row.name);
    const [all, allBase] = this.sums(view), most = Math.max(all, allBase);
    const isShare = this.by === 'share';
    /** @param {number} v @param {number} of */
    const side = (v, of) => ({ meter: 100 * v / most + '%',
      text: isShare ? percent(v, of) : this.amount(v),
      title: isShare ? this.amount(v) : percent(v, of) });
    const mark = !change ? '' : isTotal || change.deltaPct > 0 ? '▲ ' : '▼ ';
    const text = now === 0 && base === 0 ? '' : this.relative(now, base);
    return [side(base, allBase), side(now, all), {
      text: mark + text, meter: '0%',
      title: this.delta(now, base) + (change
        ? `, p = ${change.pValue.toPrecision(2)}`
        : ', no more than chance by itself'),
    }];
  }

  /* The start of a side, its cost, and its duration. */
  /** @param {DiffDoc} doc @param {Base} side */
  static side({ base, service, unit }, side) {
    return [...base.service === service ? [] : [side.service],
      local(side.startedAt), quantity(side.total, unit) + (side.durationMs
        ? ' in ' + quantity(side.durationMs * 1e6, 'nanoseconds') : '')]
      .join(', ');
  }

  /** @param {DiffDoc} doc @returns {[string, string, string?][]} */
  static facts(doc) {
    /** @param {Base} d */
    const side = d => DiffTree.side(doc, d);
    /** @param {number} v */
    const percents = v => signed(v.toFixed(1)) + '%';
    const { overallDelta: delta, overallDeltaLow: low,
      overallDeltaHigh: high } = doc;
    /** @type {Record<string, string>} */
    const cost = { work: 'Cost per unit of work', none: 'Cost' };
    return [['Base', side(doc.base), utc(doc.base.startedAt)],
      ['Comparison', side(doc), utc(doc.startedAt)],
      [cost[doc.normalize] || 'Cost per second',
        delta === null ? 'unknown' : low === high ? percents(delta)
          : `${percents(delta)} (${percents(low)} to ${percents(high)})`]];
  }

  /** @param {DiffDoc} doc */
  static legend(doc) {
    /** @type {Record<string, string>} */
    const made = { rate: 'per second', share: 'as shares of the total',
      work: 'per unit of work', none: 'as captured' };
    return [['less', 'costs less'], ['same', 'within chance'],
      ['more', 'costs more'], ['new', 'new'], ['gone', 'gone'],
      ['', `Compared ${made[doc.normalize]}. ▲ ▼ and outlines: more than chance`
      ]];
  }
}

export { DiffTree };
