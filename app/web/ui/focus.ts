/*
 * Keeps the keyboard's focus. When the focused element disappears with a row, a
 * dialog or a whole page, the browser forgets the reader's place: the focus
 * then goes to the heading of what is left.
 */
const HEADINGS = 'h1, h2, .crumbs [aria-current="page"]';

const headingOf = (e: Element) => [...e.querySelectorAll<HTMLElement>(
  HEADINGS)].find(h => h.checkVisibility());

let isAwaited = false; /* the entered page has no heading yet */

function give(heading: HTMLElement, options?: FocusOptions) {
  isAwaited = false;
  if (!heading.hasAttribute('tabindex')) heading.tabIndex = -1;
  heading.focus(options);
}

/* Enters a page, which may have to load before it has a heading. */
export function enter(page: HTMLElement) {
  const heading = headingOf(page);
  if (heading) return give(heading, { preventScroll: true });
  page.focus({ preventScroll: true });
  isAwaited = true;
}

/* Watches the focus within the element; call the result to stop. */
export function keepFocus(page: HTMLElement) {
  const stop = new AbortController(), { signal } = stop;
  let trail: Element[] = []; /* the focused element, and what contains it */
  document.addEventListener('focusin', e => {
    const path = e.composedPath() as Element[];
    trail = path.slice(0, path.indexOf(page) + 1);
    isAwaited &&= e.target === page;
  }, { signal });
  /* a click on the background drops the focus on purpose */
  document.addEventListener('focusout', () => setTimeout(() => {
    if (trail[0]?.isConnected && document.activeElement === document.body)
      trail = [];
  }), { signal });
  const watch = new MutationObserver(() => {
    const at = document.activeElement;
    if (isAwaited && at === page) {
      const heading = headingOf(page);
      if (heading) give(heading, { preventScroll: true });
    } else if (at === document.body && trail.length > 0 &&
        !trail[0].isConnected) {
      const left = trail.filter(e => e.isConnected).map(headingOf)
        .find(h => h);
      if (left) give(left);
      else enter(page);
    }
  });
  watch.observe(page, { childList: true, subtree: true });
  return () => {
    stop.abort();
    watch.disconnect();
  };
}
