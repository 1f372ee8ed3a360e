/*
 * The cost of each source line or instruction of the selected function, with
 * their text if the capture kept it. The server computes it (format=listing),
 * so saved pages lack it.
 *
 *   ask(format, name of a function) fetches the document
 *   parts.placed(place, text) makes a text or a link of a place
 *   on.close() on.choose(what), one of LISTS
 */
import { lastPart, local, percent, quantity, shorten, utc, visible }
  from './text.js';
import { element } from './flame.js';

/**
 * @import { Cost, From, Line, List, Listing, Placed } from './types'
 * @typedef {{ section: HTMLElement, title: HTMLElement, close: HTMLElement,
 *   body: HTMLElement, note: HTMLElement, choice: HTMLElement[],
 *   placed: Placed }} LinesParts
 */

/** @type {Record<List, string>} */
const LISTS = { source: 'Lines', code: 'Instructions' };
const PATH_FITS = 44, TITLE_FITS = 40;

/* Reasons why a file's lines have no text, or that of another version. */
/** @type {Record<string, string>} */
const STATES = {
  newer: 'has changed since the program was built or started: these may ' +
    'not be the lines that ran.',
  missing: 'is not in the file system of the process.',
  refused: 'could not be read: it is not text, it is too large, or the ' +
    "process's user may not read it.",
};

/* How certain it is that another capture's text belongs to the code that
 * ran. */
/** @type {Record<string, string>} */
const BUILDS = {
  mixed: ', of one of the builds that ran: lines of others may differ',
  unknown: '; whether the script has changed since or before is not known',
};

/* The end of a path, which is what distinguishes files. */
/** @param {string} path */
const tail = path => path.length <= PATH_FITS ? path
  : '…' + path.slice(1 - PATH_FITS);

class Lines {
  /**
   * @param {LinesParts} parts
   * @param {(format: string, fn: string) => Promise<Listing>} ask
   * @param {{ close: () => void, choose: (what: List) => void }} on
   */
  constructor(parts, ask, on) {
    this.parts = parts;
    this.ask = ask;
    this.shown = ''; /* the list requested or shown */
    /** @type {List | ''} */
    this.what = '';
    /** @type {Listing | null} */
    this.doc = null;
    /** @type {{ self: number, tr?: HTMLElement }} */
    this.hottest = { self: -1 };
    this.parts.close.addEventListener('click', on.close);
    for (const button of this.parts.choice)
      button.addEventListener('click', () =>
        on.choose(/** @type {List} */ (button.dataset.list)));
  }

  /* Shows a list of a function; '' closes it. from has everything else on
   * which the document depends. */
  /** @param {List | ''} what @param {string} fn @param {string} from */
  show(what, fn, from) {
    const key = what && fn && `${from} ${fn}`;
    this.what = what;
    this.parts.section.hidden = !key;
    this.parts.title.textContent = what &&
      `${LISTS[what]} of ${shorten(fn, TITLE_FITS)}`;
    this.parts.title.title = fn;
    for (const button of this.parts.choice)
      button.setAttribute('aria-pressed',
        String(button.dataset.list === what));
    if (key === this.shown) return this.draw();
    this.shown = key;
    this.doc = null;
    this.parts.body.replaceChildren();
    this.say('Loading');
    if (key) this.load(fn, key);
  }

  /** @param {string} fn @param {string} key */
  async load(fn, key) {
    try {
      const doc = await this.ask('listing', fn);
      if (key !== this.shown) return;
      this.doc = doc;
      this.draw();
    } catch (e) {
      if (key === this.shown)
        this.say(String(e instanceof Error ? e.message : e));
    }
  }

  /** @param {(string | HTMLElement | false)[]} texts */
  say(...texts) {
    this.parts.note.replaceChildren(...texts.flatMap(text =>
      text ? [text, ' '] : []));
    this.parts.note.hidden = !this.parts.note.textContent;
  }

  draw() {
    const { doc } = this;
    if (!doc) return;
    this.hottest = { self: -1 };
    if (this.what === 'code') this.drawCode(doc);
    else this.drawSource(doc);
    this.scrollTo(this.hottest.tr);
  }

  /* Shows a row in the middle of the list, without moving the page. */
  /** @param {HTMLElement | undefined} tr */
  scrollTo(tr) {
    const list = this.parts.body.closest('.rows');
    if (tr && list) list.scrollTop = tr.offsetTop - list.clientHeight / 2;
  }

  /* --- rows --------------------------------------------------------------- */

  /** @param {Cost} cost @param {HTMLElement} last */
  row({ self, total }, last) {
    const { total: all = 0, unit = '' } = this.doc ?? {};
    const tr = element('tr', '', total ? {} : { class: 'quiet' });
    if (self > this.hottest.self) this.hottest = { self, tr };
    tr.append(...[self, total].map(value => {
      const text = value ? percent(value, all) : '';
      const td = element('td', text, { title: quantity(value, unit) });
      td.style.backgroundSize = (text ? text.replace('<', '') : '0') + ' 100%';
      return td;
    }), last);
    return tr;
  }

  /** @param {string} text @param {string} [title] */
  head(text, title = text) {
    const tr = element('tr', ''), th = element('th', text, { title,
      scope: 'rowgroup', colspan: '3' });
    tr.append(th);
    return tr;
  }

  /** @param {string} at @param {string} [text] */
  place(at, text = tail(at)) {
    const td = element('td', '', { title: at });
    td.append(this.parts.placed(at, text));
    return td;
  }

  /* A line of text after its number, which links to the repository. */
  /** @param {string} at @param {string | number} number @param {string} text */
  text(at, number, text) {
    const td = element('td', '', { class: 'text', title: text.trim() });
    const gutter = element('span', '');
    gutter.append(this.parts.placed(at, String(number)));
    td.append(gutter, visible(text.replaceAll('\t', '    ')));
    return td;
  }

  /** @param {Listing} listing */
  drawSource({ files, leftOut }) {
    /** @param {{ lines: Line[] }} file */
    const hasText = ({ lines }) => lines.some(line => line.text);
    this.parts.body.replaceChildren(...files.flatMap(file => {
      const isText = hasText(file);
      const rows = file.lines.map(line => {
        const at = `${file.file}:${line.line}`;
        return this.row(line, isText ? this.text(at, line.line, line.text ?? '')
          : this.place(at));
      });
      return isText ? [this.head(tail(file.file), file.file), ...rows] : rows;
    }));
    if (files.length === 0) return this.say(
      'No source lines are known: the program has no debug information.');
    const why = files.flatMap(({ file, state = '' }) =>
      STATES[state] ? `${tail(file)} ${STATES[state]}` : []);
    this.say(...this.origins(files), ...why, files.every(({ state }) => state === 'none') &&
      'The text of lines is kept by captures of services that allow ' +
      'sourceCode.', leftOut > 0 && `${leftOut.toLocaleString('en')} more ` +
      'lines.');
  }

  /* The other captures from which texts come. */
  /** @param {From[]} parts */
  origins(parts) {
    const from = parts.flatMap(part => part.from ?? []);
    const ids = [...new Set(from.map(({ id }) => id))];
    return ids.flatMap((id, i) => {
      const of = from.filter(one => one.id === id), { at } = of[0];
      const known = of.map(({ build }) => BUILDS[build]).find(Boolean) ?? '';
      return [i === 0 ? 'The text is that of the' : 'Some is of the',
        element('a', `capture of ${local(at)}`, { href:
          `/ui/p/${encodeURIComponent(id)}`, title: `${id}\n${utc(at)}` }),
        `of the same service${known}.`];
    });
  }

  /** @param {Listing} listing */
  drawCode({ functions }) {
    this.parts.body.replaceChildren(...functions.flatMap(({ function: name, module,
      code }) => {
      let last = '';
      return [this.head(`${shorten(name, 60)} · ${tail(module)}`,
        `${name}\n${module}`), ...code.flatMap(one => {
        const at = one.line ? `${one.file}:${one.line}` : '';
        const isNew = at && at !== last;
        last = at;
        const line = element('tr', '', { class: 'quiet' });
        if (isNew) line.append(element('td', ''), element('td', ''),
          this.place(at, lastPart(at)));
        const row = this.row(one, this.text('', one.address, one.text));
        return isNew ? [line, row] : [row];
      })];
    }));
    this.say(...this.origins(functions), functions.length === 0 &&
      'No instructions of this function were kept: captures of CPU time keep ' +
      'those of the functions that cost most, if the service allows ' +
      'sourceCode and the code is that of a compiled file.');
  }
}

export { LISTS, Lines };
