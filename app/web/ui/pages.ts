/*
 * The pages: the pattern of the path, with names for its parts; the word in
 * the navigation, if any, and whether it is only for administrators, or for
 * operators too; whether the page takes the whole width rather than a readable
 * one; and the module that draws the page, loaded when needed.
 */
import type { ComponentType } from 'preact';
import type { Caller } from './api';

export type PageProps = {
  args: Record<string, string>;
  query: URLSearchParams;
  caller: Caller;
};
export type Page = {
  pattern: string;
  word?: string;
  forAdmins?: boolean;
  forOperators?: boolean;
  isWide?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
};

export const PAGES: Page[] = [
  { pattern: '/services', word: 'Services', load: () => import('./services') },
  { pattern: '/p/:id', isWide: true, load: () => import('./capture') },
  { pattern: '/p/:id/heat', isWide: true, load: () => import('./heat') },
  { pattern: '/p/:id/threads', load: () => import('./threads') },
  { pattern: '/s/:service', isWide: true, load: () => import('./explore') },
  { pattern: '/s/:service/settings', load: () => import('./settings') },
  { pattern: '/upload', word: 'Upload', forOperators: true,
    load: () => import('./upload') },
  { pattern: '/compare', isWide: true, load: () => import('./compare') },
  { pattern: '/access', word: 'Access', forAdmins: true,
    load: () => import('./access') },
  { pattern: '/system', word: 'System', load: () => import('./system') },
  { pattern: '/audit', word: 'Audit', load: () => import('./audit') },
];
export const HOME = '/services';

/* The parts of a path that a pattern names; null if the path does not match. */
export function match(pattern: string, path: string) {
  const want = pattern.split('/'), got = path.split('/');
  if (want.length !== got.length) return null;
  const args: Record<string, string> = {};
  for (const [i, part] of want.entries())
    if (part.startsWith(':')) args[part.slice(1)] = decode(got[i]);
    else if (part !== got[i]) return null;
  return args;
}

function decode(part: string) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
