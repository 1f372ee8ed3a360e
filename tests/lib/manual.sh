# The literal blocks of the manual's pages. tests/manual.txt says what runs
# each.
#
#	manual_block PAGE TEXT	the lines of the first block with this text
#	manual_commands PAGE [TEXT]	commands with a prompt, each on one line: those of
#				all blocks, or of the first with this text
manual_block() { # page, text
  awk -v text="$2" '/^\.Bd -literal/ { on = 1; block = ""; next }
    /^\.Ed/ { if (on && index(block, text)) { printf "%s", block; exit } on = 0 }
    on { gsub(/\\-/, "-"); gsub(/\\\(aq/, "\047"); sub(/\\e$/, "\\"); sub(/^\\&/, "")
      block = block $0 "\n" }' "conf/man/$1"
}
manual_commands() { # page, text
  if [ -n "${2-}" ]; then manual_block "$1" "$2"; else
    awk '/^\.Bd -literal/ { on = 1; next } /^\.Ed/ { on = 0 }
      on { gsub(/\\-/, "-"); sub(/\\e$/, "\\"); print }' "conf/man/$1"
  fi | awk 'more || sub(/^[$#] /, "") { more = sub(/\\$/, ""); printf "%s%s", $0, more ? "" : "\n" }'
}
