# Prints stoker.conf as it is shipped, from these tables:
#
#	awk -f conf/man/rows.awk -f conf/man/conf.awk include/config.def include/quotas.def \
#		include/scope.def
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
	wrapped("Limits for each tenant; 0: no limit. [quota.TENANT] sets those " \
		"of one tenant.")
	print "[quota]"
	n = rows(ARGV[2], "QUOTA")
	for (i = 1; i <= n; i++) {
		if (i > 1)
			print ""
		wrapped(row[i, 5])
		print "#" row[i, 1] " = " row[i, 4]
	}
	print ""
	wrapped("A tenant may name these, separated by spaces; * is anything. A " \
		"tenant without a section, or without a key, may name nothing.")
	print "[scope.default]"
	n = rows(ARGV[3], "SCOPE")
	for (i = 1; i <= n; i++) {
		wrapped(row[i, 2])
		print row[i, 1] " = *"
	}
}
