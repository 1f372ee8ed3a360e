/* The manual: a search over the sections of all its pages. */
import { matches } from './spec.js';
import { element, link } from './dom.js';

const $ = id => document.getElementById(id);
const MOST = 50; /* results shown */
const AROUND = 90; /* characters of the text before and after a match */
let sections; /* of all pages; a promise after the first search */

/* A page as a separate document, whose text never becomes markup of this
 * one. */
function read(href) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open('GET', href);
    request.responseType = 'document';
    request.onload = () => request.response ? done(request.response)
      : failed(new Error(`${href}: status ${request.status}`));
    request.onerror = () => failed(new Error(`${href} can't be read`));
    request.send();
  });
}

const words = node => node.textContent.replace(/\s+/g, ' ').trim();

/* The pieces of a page that a search finds: entries of lists with a term, and
 * the rest of each section. */
function sectionsOf(page, href, title) {
  const found = [];
  for (const heading of page.querySelectorAll('h1[id], h2[id]')) {
    const own = [];
    for (let node = heading.nextElementSibling;
      node && !node.matches('section, h1, h2'); node = node.nextElementSibling) {
      if (node.tagName !== 'DL') {
        own.push(words(node));
        continue;
      }
      for (const term of node.children)
        if (term.tagName === 'DT' && term.nextElementSibling)
          found.push({ href, title, id: term.id || heading.id,
            name: words(term), text: words(term.nextElementSibling) });
    }
    found.push({ href, title, id: heading.id, name: words(heading),
      text: own.join(' ') });
  }
  return found;
}

async function load() {
  const links = [...document.querySelectorAll('nav a')];
  const pages = await Promise.all(links.map(async a =>
    sectionsOf(await read(a.href), a.getAttribute('href'), a.textContent)));
  return pages.flat();
}

function excerpt(text, query) {
  const first = query.toLowerCase().split(/\s+/)[0];
  const at = Math.max(text.toLowerCase().indexOf(first), 0);
  const from = Math.max(at - AROUND, 0);
  return (from ? '… ' : '') + text.slice(from, at + AROUND) +
    (at + AROUND < text.length ? ' …' : '');
}

async function search() {
  const query = $('search').value.trim();
  $('page').hidden = query !== '';
  $('found').hidden = query === '';
  if (query === '') return;
  sections ||= load();
  const found = (await sections).filter(s =>
    matches(query, [s.name, s.text]));
  if (query !== $('search').value.trim()) return;
  /* Sections whose names match come first. */
  found.sort((a, b) => matches(query, [b.name]) - matches(query, [a.name]));
  $('found').replaceChildren(
    element('p', {}, found.length
      ? `${found.length} ${found.length === 1 ? 'section' : 'sections'}` +
        (found.length > MOST ? `, the first ${MOST} of which are shown` : '')
      : `No page contains “${query}”.`),
    ...found.slice(0, MOST).map(s => element('div', { class: 'result' },
      link(s.href + (s.id ? '#' + s.id : ''), `${s.title}: ${s.name}`),
      element('p', {}, excerpt(s.text, query)))));
}

function onKey(e) {
  if (e.key === '/' && e.target !== $('search') && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    $('search').focus();
  }
}

const failed = e => {
  sections = undefined;
  $('found').textContent = e.message;
};
$('search').addEventListener('input', () => search().catch(failed));
/* A result may lie on this page: then only the fragment changes. */
addEventListener('hashchange', () => {
  if ($('search').value === '') return;
  $('search').value = '';
  search();
  $(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
});
addEventListener('keydown', onKey);
if ($('search').value) search().catch(failed);
