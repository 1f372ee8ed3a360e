/*
 * Describes the profile: its facts, its quality, how long its link works, and
 * its other formats. Texts of the document may come from a profiled program,
 * so the page sets them only as text.
 */
import { clock, counted, local, quantity, utc, visible } from './text.js';
import { element } from './flame.js';
import { PROFILE_TYPES } from './tables.js';

/** @import { AnyDoc, DiffDoc, Doc, Filter, Quality, What } from './types' */

const INLINE = ['svg', 'json'];
const PATH_MOST = 1500; /* characters of a path in an address */
/** @type {Record<string, string>} */
const NAMES = { html: 'HTML', svg: 'SVG', json: 'JSON', dot: 'DOT',
  pprof: 'pprof', folded: 'Folded stacks', speedscope: 'Speedscope',
  firefox: 'Firefox Profiler' };

/* --- facts -------------------------------------------------------------- */

/* The time until which the link to this page works; '' without a link. */
function expiry() {
  const q = new URLSearchParams(location.search);
  const [hour, key] = (q.get('signature') ?? '').split('.');
  const at = key ? Number(hour) * 3600 : Number(q.get('expires'));
  return at > 0 && at < 253402300800
    ? new Date(at * 1000).toISOString() : '';
}

/** @param {string} at @returns {[string, string]} */
const time = at => [clock(Date.parse(at)), utc(at)];

/* If a program allocates very often, the sum is known only within bounds. */
/** @param {Doc} doc */
function total(doc) {
  const { allocatedLeastBytes: least, allocatedMostBytes: most } = doc.quality;
  const sum = quantity(doc.total, doc.unit);
  return most ? `${sum} (at least ${quantity(least ?? 0, doc.unit)}, at most ` +
    `${quantity(most, doc.unit)})` : sum;
}

/* Each fact has a name, a text and a tooltip. Uploaded profiles may have no
 * duration, and a gauge's value does not grow with it. */
/**
 * @param {AnyDoc} doc
 * @param {(doc: DiffDoc) => [string, string, string?][]} ofDiff
 */
function facts(doc, ofDiff) {
  const rows = doc.base ? ofDiff(doc) : [
    ['Started', ...time(String(doc.startedAt))],
    ['Duration', quantity(doc.durationMs * 1e6, 'nanoseconds')],
    [counted(doc.type), Number(doc.totalSamples).toLocaleString('en')],
    ['Total', total(doc)]]
    .filter(([name]) => name !== 'Duration' || doc.durationMs > 0 &&
      !PROFILE_TYPES.get(doc.type)?.isGauge);
  if (doc.quality.verdict === 'good') rows.push(['Quality', 'good']);
  if (expiry()) rows.push(['This link works until', ...time(expiry())]);
  return rows.map(([name, value, title = '']) => {
    const group = element('div', '');
    group.append(element('dt', name), element('dd', value, { title }));
    return group;
  });
}

/* --- the verdict of a comparison ---------------------------------------- */

const NAME_SEEN = 80; /* of a longer name: app/profile/compare/sentence.c */

const UTC_TIME = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/;

/* Gives negative numbers the minus sign of the page's own numbers. */
/** @param {string} text */
const negated = text => visible(text).replace(/(^|[ (])-(?=\d)/g, '$1\u2212');

/* A text, with its times in the reader's time zone. */
/** @param {string} text @returns {(string | HTMLElement)[]} */
function timed(text) {
  const [all, day, time] = UTC_TIME.exec(text) ?? [];
  if (!all) return [negated(text)];
  const at = text.indexOf(all), iso = `${day}T${time}Z`;
  return [negated(text.slice(0, at)), element('time', local(iso),
    { dateTime: iso, title: utc(iso) }), ...timed(text.slice(at + all.length))];
}

/* The names of functions in a text are buttons that select them. */
/**
 * @param {string} text @param {string[]} names
 * @param {(name: string) => void} select
 */
function linked(text, names, select) {
  const shown = new Map(names.map(name => [name.length > NAME_SEEN
    ? name.slice(0, NAME_SEEN) + '...' : name, name]));
  const out = [];
  let rest = text;
  while (rest) {
    const [first] = [...shown.keys()].map(seen =>
      ({ at: rest.indexOf(seen), seen })).filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at || b.seen.length - a.seen.length);
    if (!first) break;
    const { at, seen } = first, name = visible(shown.get(seen) ?? '');
    const button = element('button', visible(seen), { type: 'button',
      title: name });
    button.addEventListener('click', () => select(name));
    out.push(...timed(rest.slice(0, at)), button);
    rest = rest.slice(at + seen.length);
    shown.delete(seen);
  }
  return [...out, ...timed(rest)];
}

/** @type {Record<string, string>} */
const KINDS = { regressed: 'more', 'costs-more': 'more', improved: 'less',
  'insufficient-data': 'open' };

/**
 * @param {HTMLElement} section @param {DiffDoc} doc
 * @param {(name: string) => void} select
 */
function showVerdict(section, doc, select) {
  const names = [...doc.changes, ...doc.risen].map(c => doc.names[c.name]);
  if (doc.shiftedFunction) names.push(doc.shiftedFunction);
  const text = element('span', '');
  text.append(...linked(doc.reason, names, select));
  section.className = KINDS[doc.verdict] ?? 'same';
  section.replaceChildren(element('strong', doc.verdictText), text);
  section.hidden = false;
}

/* --- quality ------------------------------------------------------------ */

/** @param {string[]} texts */
function list(texts) {
  const ul = element('ul', '');
  ul.append(...texts.map(text => element('li', visible(String(text)))));
  return ul;
}

/* An empty profile is not called poor: the page shows why it is empty in place
   of the graph. */
/** @param {Quality} quality @param {AnyDoc} doc */
const isPoor = ({ verdict }, doc) => verdict === 'poor' &&
  (doc.base !== undefined || doc.total > 0);

/* The quality report of one side; [] if there is nothing to report. */
/** @param {Quality} quality @param {string} whose @param {AnyDoc} doc */
function report(quality, whose, doc) {
  const { reasons = [], notes = [] } = quality, parts = [];
  if (isPoor(quality, doc)) {
    parts.push(element('strong', `${whose} is poor: do not rely on it.`));
    if (reasons.length > 0) parts.push(list(reasons));
  }
  if (notes.length > 0) {
    const more = element('details', '');
    more.append(element('summary', notes.length === 1
      ? `${whose}: a note on its quality`
      : `${whose}: ${notes.length} notes on its quality`), list(notes));
    parts.push(more);
  }
  return parts;
}

/* A newer report keeps open what the reader has opened. */
/** @param {HTMLElement} old @param {HTMLElement[]} parts */
function keepOpen(old, parts) {
  const isOpen = [...old.querySelectorAll('details')].map(d => d.open);
  for (const [i, part] of parts.filter(p =>
    p instanceof HTMLDetailsElement).entries())
    part.open = isOpen[i] ?? false;
}

/** @param {HTMLElement} section @param {AnyDoc} doc */
function showQuality(section, doc) {
  /** @type {[Quality, string][]} */
  const sides = doc.base
    ? [[doc.base.quality, 'The base'], [doc.quality, 'The comparison']]
    : [[doc.quality, 'This profile']];
  const parts = sides.flatMap(([quality, whose]) =>
    report(quality, whose, doc));
  section.classList.toggle('poor',
    sides.some(([quality]) => isPoor(quality, doc)));
  keepOpen(section, parts);
  section.replaceChildren(...parts);
  section.hidden = parts.length === 0;
}

/* --- other formats ------------------------------------------------------ */

/** @param {string} address @param {string} format @param {string} title */
function link(address, format, title) {
  const a = element('a', NAMES[format] || format, { title,
    href: addressOf(address, format, [], []), 'data-format': format });
  if (format === 'html') a.download = 'flame-graph.html';
  if (INLINE.includes(format)) {
    a.target = '_blank';
    a.rel = 'noopener';
  }
  return a;
}

/* A file that the page makes itself. */
/**
 * @param {string} text @param {string} title @param {string} extension
 * @param {() => Blob | Promise<Blob>} make
 */
function maker(text, title, extension, make) {
  const button = element('button', text, { type: 'button', title });
  button.addEventListener('click', async () => {
    const a = element('a', '', { download: 'flame-graph.' + extension,
      href: URL.createObjectURL(await make()) });
    a.click();
  });
  return button;
}

/**
 * @param {HTMLElement} ul @param {AnyDoc} doc @param {string} address
 * @param {() => HTMLCanvasElement} canvas
 */
function showFormats(ul, doc, address, canvas) {
  /** @type {HTMLElement[]} */
  const items = address
    ? Object.entries(doc.formats).map(([name, title]) =>
      link(address, name, title))
    : [maker('JSON', 'The data of this page', 'json',
      () => new Blob([JSON.stringify(doc)], { type: 'application/json' }))];
  items.push(maker('PNG', 'The picture as it is seen', 'png',
    () => new Promise(done => canvas().toBlob(blob =>
      done(blob ?? new Blob())))));
  ul.replaceChildren(...items.map(item => {
    const li = element('li', '');
    li.append(item);
    return li;
  }));
}

/** @param {string[]} names */
const listed = names => names.map(s => s.replaceAll(';', ':')).join(';');

/* The parameters for what filters leave out. */
/** @type {Record<What, string>} */
const LEFT_OUT = { focus: 'focus', hide: 'hide', fold: 'fold',
  'fold-package': 'foldPackage', 'fold-kind': 'foldKind',
  'focus-text': 'focusText', 'hide-text': 'hideText',
  'fold-text': 'foldText' };

/* The address of a format without what filters leave out, with more parameters:
 * [name, text]. */
/**
 * @param {string} address @param {string} format @param {Filter[]} filters
 * @param {[string, string][]} params
 */
function addressOf(address, format, filters, params) {
  const url = new URL(address, location.href);
  const left = Object.entries(LEFT_OUT).map(([what, name]) => [name, listed(
    filters.filter(f => f[0] === what).map(f => f[1]))]);
  for (const [key, text] of [['format', format], ...left, ...params])
    if (text && text.length <= PATH_MOST) url.searchParams.set(key, text);
    else url.searchParams.delete(key);
  url.hash = '';
  return url.href;
}

/* Makes the server's files show what the page shows: without what filters
 * leave out and, in the picture, with the frame at the end of a path and the
 * marks of a search. Addresses are bounded, so the outermost callers of a deep
 * frame are left out. */
/**
 * @param {HTMLElement} ul @param {string[]} path @param {string} query
 * @param {Filter[]} filters
 */
function aimFormats(ul, path, query, filters) {
  const names = [...path];
  while (names.length > 1 && listed(names).length > PATH_MOST) names.shift();
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = ul.querySelectorAll('a[data-format]');
  for (const a of links) {
    const { format = '' } = a.dataset;
    a.href = addressOf(a.href, format, filters, format === 'svg'
      ? [['root', listed(names)], ['search', query]] : []);
  }
}

export { facts, showVerdict, showQuality, showFormats, addressOf,
  aimFormats };
