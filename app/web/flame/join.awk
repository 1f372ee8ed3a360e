# Puts modules together as one script that needs no other: imports and exports
# are left out, and names of one module are those of all. The modules come in an
# order in which each may use those before it. A name that two of them give to
# something of their own would end the script when it is read.
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
