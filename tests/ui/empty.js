/* The page of a profile without samples. */
run([
  ['it_says_why_there_is_nothing_to_see', () => {
    const notice = document.querySelector('[part=notice]');
    same([notice.hidden, notice.textContent],
      [false, 'This profile is empty: no input or output was sampled.']);
  }],
  ['an_empty_profile_is_not_called_poor_too', () => {
    const quality = document.querySelector('[part=quality]');
    same([quality.className, quality.querySelector('summary').textContent],
      ['', 'This profile: a note on its quality']);
  }],
  ['a_profile_of_io_counts_operations', () =>
    same([...document.querySelectorAll('[part=facts] dt')].map(
      d => d.textContent), ['Started', 'Duration', 'Operations', 'Total'])],
  ['what_was_profiled_is_told_all_the_same', () =>
    same(document.querySelector('[part=service]').textContent, 'shop')],
]);
