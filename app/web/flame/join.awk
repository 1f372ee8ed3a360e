# Puts modules together as one script that needs no other: imports and exports
# are left out, and names of one module are those of all. The modules come in an
# order in which each may use those before it.
BEGIN { print "'use strict';\n{" }
/^(import|export) / { inside = 1 }
!inside { print }
/;$/ { inside = 0 }
END { print "}" }
