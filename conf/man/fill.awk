# Fills a manual page: a line ".\" rows KIND FILE" becomes the rows of that
# table, so that the page can't drift from the program.
#
#	awk -f conf/man/rows.awk -f conf/man/fill.awk PAGE

# Text that roff takes as it is.
function plain(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	return text ~ /^[.']/ ? "\\&" text : text
}

# A sentence a line, as mdoc(7) asks, and none longer than 80 columns.
function prose(text,   n, i, words, line, out) {
	n = split(plain(text), words, " ")
	for (i = 1; i <= n; i++) {
		if (line != "" && (length(line " " words[i]) > 80 || line ~ /\.$/)) {
			out = out line "\n"
			line = words[i] ~ /^[.']/ ? "\\&" words[i] : words[i]
		} else {
			line = line (line == "" ? "" : " ") words[i]
		}
	}
	return out line
}

function dashed(field) {
	gsub(/_/, "-", field)
	return field
}

# Commands in parts that have a title each.
function commands(file,   n, parts, p, i, name, title) {
	parts = rows(file, "PART")
	for (p = 1; p <= parts; p++) {
		name[p] = row[p, 1]
		title[p] = row[p, 2]
	}
	n = rows(file, "COMMAND")
	for (p = 1; p <= parts; p++) {
		print ".Ss " plain(title[p]) "\n.Bl -tag -width Ds"
		for (i = 1; i <= n; i++)
			if (row[i, 1] == name[p])
				command(i)
		print ".El"
	}
}

function command(i) {
	print ".It Sy " plain(row[i, 2]) \
		(row[i, 3] == "" ? "" : " No " plain(row[i, 3]))
	print prose(row[i, 7])
	print ".Pp\n.Dl stoker " plain(row[i, 8])
}

function options(n, scope,   i) {
	for (i = 1; i <= n; i++) {
		if (row[i, 2] != scope)
			continue
		print ".It Fl \\-" plain(dashed(row[i, 1])) \
			(row[i, 4] == "" ? "" : " Ar " plain(row[i, 4]))
		print prose(row[i, 5])
	}
}

function exits(n,   i) {
	for (i = 1; i <= n; i++)
		print ".It " row[i, 2] "\n" prose(row[i, 3])
}

function keys(n,   i, section) {
	for (i = 1; i <= n; i++) {
		if (row[i, 1] != section) {
			if (section != "")
				print ".El"
			section = row[i, 1]
			print ".Ss [" section "]\\&\n.Bl -tag -width Ds"
		}
		print ".It Sy " plain(row[i, 2]) " Pq " row[i, 3] ", " \
			(row[i, 4] == "" ? "empty" : plain(row[i, 4]))
		print prose(row[i, 7])
	}
	print ".El"
}

$1 == ".\\\"" && $2 == "rows" {
	if ($3 == "commands")
		commands($4)
	else if ($3 == "options")
		options(rows($4, "OPTION"), $5)
	else if ($3 == "exits")
		exits(rows($4, "LEAVE"))
	else if ($3 == "keys")
		keys(rows($4, "KEY"))
	else {
		print FILENAME ": no such rows: " $3 >"/dev/stderr"
		exit 1
	}
	next
}
{ print }
