/*
 * Links from a line of a program to its repository: the service has a template
 * of addresses, sourceLink, with {file}, {line} and {version}. {file:FOLDER/} is
 * the path below that folder; other files then have no link.
 *
 * Names of files come from profiled programs: they become parts of a path, and
 * cannot leave it.
 */
import { get } from './api';
import type { Service } from './replies';
import { useData } from './use';

/* The address of "file:line", or ''. */
export type Linked = (place: string) => string;
type Sourced = Service & { labels: Record<string, string> };

const NEWEST = 'HEAD'; /* the newest revision, at GitHub, GitLab and Gitea */
export const noLink: Linked = () => '';

/* A path without "." and ".."; null if it leads above its start. */
function plain(file: string) {
  const parts: string[] = [];
  for (const part of file.split('/')) {
    if (part === '..' && parts.pop() === undefined) return null;
    if (part !== '' && part !== '.' && part !== '..') parts.push(part);
  }
  return parts;
}

const encoded = (parts: string[]) => parts.map(encodeURIComponent).join('/');

export function linker({ sourceLink, labels }: Sourced, version = ''): Linked {
  if (!/^https?:\/\//.test(sourceLink)) return noLink;
  return place => {
    const [, file, line] = /^(.*?)(?::(\d+))?$/s.exec(place)!;
    const parts = plain(file);
    if (!parts || parts.length === 0) return '';
    let isElsewhere = false;
    const address = sourceLink.replace(/\{(line|version|file(?::([^}]*))?)\}/g,
      (_, what: string, folder: string = '') => {
        if (what === 'line') return line ?? '1';
        if (what === 'version')
          return encodeURIComponent(version || labels.version || NEWEST);
        const above = plain(folder) ?? [];
        isElsewhere ||= above.some((part, i) => part !== parts[i]) ||
          parts.length === above.length;
        return encoded(parts.slice(above.length));
      });
    return isElsewhere ? '' : address;
  };
}

/* The address of a trace and one of its spans; '' if unknown. Values come from
 * profiled programs, so they are encoded as parts of a path or a query. */
function traced({ traceLink }: Sourced, trace: string, span: string) {
  if (!/^https?:\/\//.test(traceLink) || !trace) return '';
  return traceLink.replace(/\{(trace|span)\}/g, (_, what: string) =>
    encodeURIComponent(what === 'trace' ? trace : span));
}

export const TRACE = 'sample.trace_id', SPAN = 'sample.span_id';
type Traced = (trace: string, span?: string) => string;

/* The addresses of a service's traces; '' for no service. */
export function useTraces(service: string): Traced {
  const data = useService(service);
  return (trace, span = '') => data ? traced(data, trace, span) : '';
}

function useService(service: string) {
  return useData(service && 'source ' + service, async signal =>
    service ? get<Sourced>(`/api/v1/services/${encodeURIComponent(service)}`,
      signal) : undefined).data;
}

/* The links of a service; version: the label to which a view is restricted. */
export function useSource(service: string, version = ''): Linked {
  const data = useService(service);
  return data ? linker(data, version) : noLink;
}
