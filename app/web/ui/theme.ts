/*
 * Light or dark before the first paint: a white page must not flash.
 * app/web/flame/theme.js makes later changes, and stores the choice.
 */
{
  const kept = localStorage.getItem('stoker-theme');
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = kept ?? (isDark ? 'dark' : 'light');
}
