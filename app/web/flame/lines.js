/*
 * What each source line of the selected function costs. The server computes it
 * (format=lines), so that saved pages do not have it.
 *
 *   ask(format, name of a function) fetches the document
 *   parts.placed(place, text) makes a text or a link of a place
 *   on.close()
 */
import { percent, quantity, shorten } from './text.js';
import { element } from './flame.js';

const PATH_FITS = 44, TITLE_FITS = 40;

/* The end of a path, which is what distinguishes files. */
const tail = path => path.length <= PATH_FITS ? path
  : '…' + path.slice(1 - PATH_FITS);

class Lines {
  constructor(parts, ask, on) {
    Object.assign(this, parts, { ask, shown: null });
    this.close.addEventListener('click', on.close);
  }

  /* Shows the lines of a function; '' closes the list. from is everything
   * besides the name that the document depends on. */
  show(fn, from) {
    const key = fn && `${from} ${fn}`;
    if (key === this.shown) return;
    this.shown = key;
    this.section.hidden = !fn;
    this.title.textContent = `Lines of ${shorten(fn, TITLE_FITS)}`;
    this.title.title = fn;
    this.body.replaceChildren();
    this.say('Loading');
    if (fn) this.load(fn, key);
  }

  async load(fn, key) {
    try {
      const doc = await this.ask('lines', fn);
      if (key === this.shown) this.draw(doc);
    } catch (e) {
      if (key === this.shown) this.say(e.message);
    }
  }

  say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  place(at) {
    const td = element('td', '', { title: at });
    td.append(this.placed(at, tail(at)));
    return td;
  }

  draw({ lines, leftOut, total, unit }) {
    this.body.replaceChildren(...lines.map(line => {
      const tr = element('tr', ''), at = `${line.file}:${line.line}`;
      tr.append(...[line.self, line.total].map(value => {
        const text = percent(value, total);
        const td = element('td', text, { title: quantity(value, unit) });
        td.style.backgroundSize = text.replace('<', '') + ' 100%';
        return td;
      }), this.place(at));
      return tr;
    }));
    this.say(lines.length === 0
      ? 'No source lines are known: the program has no debug information.'
      : leftOut > 0 ? `${leftOut.toLocaleString('en')} more lines` : '');
  }
}

export { Lines };
