/* The page of a profile without samples. */
run([
  ['it_says_why_there_is_nothing_to_see', () => {
    const notice = document.getElementById('notice');
    same([notice.hidden, notice.textContent.slice(0, 30)],
      [false, 'Nothing was sampled in 5.00 s:']);
  }],
  ['what_was_profiled_is_told_all_the_same', () =>
    same(document.getElementById('service').textContent, 'shop')],
]);
