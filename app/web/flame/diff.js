/*
 * The tree of two profiles: values of the comparison, and those of the base
 * on its scale beside them. Widths are either's, or both added up. Pure, as
 * model.js is; formulas are those of app/profile/diff_color.c.
 */
(() => {
  const { Tree, quantity, percent } = stoker;

  /* Changes that chance makes of nothing in one of 20. */
  const SURE = 1.96;
  const PALE = 0.35; /* of a change just beyond chance, or new within it */

  const signed = text => (text[0] === '-' ? '\u2212' + text.slice(1)
    : '+' + text);
  const scaled = (column, by) => Float64Array.from(column, v => v * by);

  /* Two "#rrggbb" of a style sheet, mixed. */
  function mix(a, b, part) {
    const at = (s, i) => parseInt(s.slice(1 + 2 * i, 3 + 2 * i), 16);
    const of = i => Math.round(at(a, i) + (at(b, i) - at(a, i)) * part);
    return `rgb(${of(0)}, ${of(1)}, ${of(2)})`;
  }

  class DiffTree extends Tree {
    static columns = { base: true, now: true, change: true, name: false,
      package: false };
    static heads = [['base', 'Base'], ['now', 'Comparison'],
      ['change', 'Change']];
    static sort = 'change';
    static shapes = { after: 'comparison', before: 'base', both: 'both' };

    constructor(doc) {
      super(doc);
      const { baseScale: scale, base } = doc;
      this.by = doc.normalize;
      this.seconds = doc.durationMs / 1000;
      this.baseTotal = scaled(doc.baseTotals, scale);
      this.baseSelf = scaled(doc.baseSelf, scale);
      this.spread = {
        now: doc.dispersion * this.perSample(doc),
        base: doc.dispersion * this.perSample(base) * scale,
      };
      this.changes = new Map(doc.changes.map(c => [c.name, c]));
      this.firstShape = this.total[0] > 0 ? doc.shape : 'before';
      this.setShape(this.firstShape);
    }

    perSample({ total, totalSamples: n }) { return n > 0 ? total / n : 0; }

    setShape(shape) {
      const { total, baseTotal } = this;
      this.width = shape === 'after' ? total : shape === 'before' ? baseTotal
        : total.map((v, i) => v + baseTotal[i]);
      this.place();
    }

    /* A change in standard deviations of what chance makes of its counts. */
    z(now, base) {
      const { spread } = this;
      const variance = Math.abs(now * spread.now) +
        Math.abs(base * spread.base);
      return variance > 0 ? (now - base) / Math.sqrt(variance) : 0;
    }

    changeOf(now, base) {
      const sure = Math.abs(this.z(now, base)) >= SURE;
      if (base === 0 && now !== 0)
        return { kind: 'new', strength: sure ? 1 : PALE, sure };
      if (now === 0 && base !== 0)
        return { kind: 'gone', strength: sure ? 1 : PALE, sure };
      if (!sure || base <= 0 || now <= 0)
        return { kind: 'same', strength: 0, sure: false };
      const steps = Math.min(Math.abs(Math.log2(now / base)), 1);
      return { kind: now > base ? 'more' : 'less', sure,
        strength: PALE + (1 - PALE) * steps };
    }

    colors(read) {
      const palette = {};
      for (const kind of ['same', 'more', 'less', 'new', 'gone'])
        palette[kind] = read(kind);
      const of = ({ kind, strength }) =>
        mix(palette.same, palette[kind], strength);
      const names = new Map(this.top(this.view(0)).map(row =>
        [row.name, of(this.changeOf(row.now, row.base))]));
      return { node: i => of(this.changeOf(this.total[i], this.baseTotal[i])),
        name: i => names.get(i) };
    }

    /* A value as both sides are held against each other. */
    amount(v) {
      if (this.by === 'share') return percent(v, this.all);
      if (this.by !== 'rate') return quantity(v, this.unit);
      return quantity(v / this.seconds, this.unit) + '/s';
    }

    delta(now, base) {
      const { by, all, unit, seconds } = this, d = now - base;
      if (by === 'share') return signed((100 * d / all).toFixed(2)) + ' pt';
      const text = quantity(by === 'rate' ? d / seconds : d, unit);
      return signed(text) + (by === 'rate' ? '/s' : '');
    }

    /* In percent of the base. */
    relative(now, base) {
      return base === 0 ? 'new' : now === 0 ? 'gone'
        : signed((100 * (now / base - 1)).toFixed(1)) + '%';
    }

    line(what, now, base) {
      if (now === 0 && base === 0) return `${what} none on either side`;
      const chance = this.changeOf(now, base).sure ? '' : ', may be chance';
      return `${what} ${this.amount(base)} → ${this.amount(now)}: ` +
        `${this.delta(now, base)} (${this.relative(now, base)}${chance})`;
    }

    describe(i) {
      return [this.line('Total', this.total[i], this.baseTotal[i]),
        this.line('Self', this.self[i], this.baseSelf[i])];
    }

    brief(i) {
      return this.delta(this.total[i], this.baseTotal[i]);
    }

    /* Functions of a view, by what is spent in them alone. */
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
      return [...rows.values()];
    }

    rank(row, key) {
      return key === 'change' ? Math.abs(row.now - row.base) : row[key];
    }

    /* The test is of shares: a function may have less of one because others
     * cost more. Per second that is no change. */
    changeOfShare(name) {
      const change = this.changes.get(name);
      return change && (this.by === 'share' || change.moved) ? change : null;
    }

    /* A mark before the change of those that moved by more than chance. */
    numbers(row) {
      const { now, base } = row, change = this.changeOfShare(row.name);
      const most = Math.max(this.all, this.baseTotal[0]);
      const side = (v, of) => ({ text: percent(v, of), title: this.amount(v),
        meter: 100 * v / most + '%' });
      const mark = !change ? '' : change.deltaPct > 0 ? '▲ ' : '▼ ';
      const text = now === 0 && base === 0 ? '' : this.relative(now, base);
      return [side(base, this.baseTotal[0]), side(now, this.all), {
        text: mark + text, meter: '0%',
        title: this.delta(now, base) + (change
          ? `, p = ${change.pValue.toPrecision(2)}`
          : ', no more than chance by itself'),
      }];
    }

    static facts(doc) {
      const side = d => quantity(d.total, doc.unit) + (d.durationMs
        ? ' in ' + quantity(d.durationMs * 1e6, 'nanoseconds') : '');
      const percents = v => signed(v.toFixed(1)) + '%';
      return [['Base', side(doc.base)], ['Comparison', side(doc)],
        ['Cost per second', doc.overallDelta === null ? 'unknown' :
          `${percents(doc.overallDelta)} (` +
          `${percents(doc.overallDeltaLow)} to ` +
          `${percents(doc.overallDeltaHigh)})`],
        ['Verdict', doc.verdict]];
    }

    static legend(doc) {
      const made = { rate: 'per second', share: 'as shares of the total',
        none: 'as captured' };
      return [['less', 'costs less'], ['same', 'within chance'],
        ['more', 'costs more'], ['new', 'new'], ['gone', 'gone'],
        ['', `Compared ${made[doc.normalize]}. ▲ ▼ more than chance`]];
    }
  }

  Object.assign(stoker, { DiffTree });
})();
