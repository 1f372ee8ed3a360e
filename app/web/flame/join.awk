# Joins modules into one script that needs no other: imports and exports are
# left out, so that all modules share their names. Each module may use those
# before it. If two modules defined the same name, the browser would reject the
# script.
BEGIN { print "'use strict';\n{" }
/^(import|export) / { inside = 1 }
{ text = $0; sub(/^export /, "", text) }
match(text, /^(const|let|class|(async )?function\*?) +[A-Za-z_$][A-Za-z0-9_$]*/) {
  name = substr(text, 1, RLENGTH); sub(/.* /, "", name)
  if (name in owner) {
    print FILENAME ":" FNR ": " name " is declared in " owner[name], "too" >"/dev/stderr"
    failed = 1
  }
  owner[name] = FILENAME
}
!inside { print }
/;$/ { inside = 0 }
END { print "}"; exit failed }
