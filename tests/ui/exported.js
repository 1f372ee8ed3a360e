/* The flame graph page as the program writes it. */
run([
  ['names_packages_and_numbers_arrive', () => {
    const rows = [...document.querySelectorAll('[part=rows] tr')].map(tr =>
      [...tr.cells].map(td => td.querySelector('button')
        ? td.querySelector('button').title : td.textContent).join(' '));
    same(rows, ['70.0% 70.0% work app',
      '30.0% 30.0% parse<\/script> parse.so', '0.00% 100.0% main shop']);
  }],
  ['header_has_units', () => same(
    [...document.querySelectorAll('[part=facts] dd')].map(d => d.textContent),
    [stoker.local('2026-01-15T08:00:00Z'), '5.00 s', '100', '1.00 s'])],
  ['root_is_the_whole', () =>
    same([stoker.tree.nameOf(0), stoker.tree.all], ['all', 1e9])],
]);
