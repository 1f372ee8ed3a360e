# Prints stoker.conf as it is shipped, from config.def:
#
#	awk -f conf/man/rows.awk -f conf/man/conf.awk include/config.def
#
# Every key is there, commented out, with its default.

function wrapped(text,   n, i, words, line) {
	n = split(text, words, " ")
	line = "#"
	for (i = 1; i <= n; i++) {
		if (length(line) + length(words[i]) > 76) {
			print line
			line = "#"
		}
		line = line " " words[i]
	}
	print line
}

BEGIN {
	wrapped("Stoker's configuration; every program reads it. What is " \
		"commented out is the default. A mistake stops the programs: " \
		"stoker config shows what is read. See stoker.conf(5).")
	n = rows(ARGV[1], "KEY")
	for (i = 1; i <= n; i++) {
		if (row[i, 1] != section) {
			section = row[i, 1]
			print "\n[" section "]"
		} else {
			print ""
		}
		wrapped(row[i, 7])
		print "#" row[i, 2] " =" (row[i, 4] == "" ? "" : " " row[i, 4])
	}
	print ""
	wrapped("What services of a tenant may name: systemd units, paths of " \
		"executables (prefixes) and user numbers, separated by spaces; * is " \
		"anything. A tenant without a section may name nothing.")
	print "[scope.default]\nunits = *\nexe = *\nuids = *"
}
