/*
 * Light or dark before the first paint: a white page must not flash. Later
 * changes are made by app/web/flame/theme.js, which keeps the choice.
 */
{
  const kept = localStorage.getItem('stoker-theme');
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = kept ?? (isDark ? 'dark' : 'light');
}
