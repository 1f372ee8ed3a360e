# Fills a manual page: a line ".\" rows KIND FILE" becomes the rows of that
# table, so that the page can't drift from the program.
#
#	awk -f conf/man/rows.awk -f conf/man/fill.awk PAGE

# Text that roff prints unchanged.
function plain(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	return text ~ /^[.']/ ? "\\&" text : text
}

# One sentence per line, as mdoc(7) asks, and no line over 80 columns.
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

# Commands in parts, each with a title.
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

# The general meaning of options, and their meanings for particular commands.
function options(file, scope,   i, k, n, own, field, whose, doc, all) {
	all = types()
	own = rows(file, "MEANING")
	for (k = 1; k <= own; k++) {
		field[k] = row[k, 1]
		whose[k] = row[k, 2]
		doc[k] = row[k, 3]
		gsub(/\{types\}/, all, doc[k])
	}
	n = rows(file, "OPTION")
	for (i = 1; i <= n; i++) {
		if (row[i, 2] != scope)
			continue
		print ".It Fl \\-" plain(dashed(row[i, 1])) \
			(row[i, 4] == "" ? "" : " Ar " plain(row[i, 4]))
		gsub(/\{types\}/, all, row[i, 5])
		print prose(row[i, 5])
		for (k = 1; k <= own; k++)
			if (field[k] == row[i, 1])
				print meaning(k, own, field, whose, doc)
	}
}

# Prints the meaning that commands share at the last of them, with all their
# names.
function meaning(k, own, field, whose, doc,   j, names) {
	for (j = 1; j <= own; j++) {
		if (field[j] != field[k] || doc[j] != doc[k])
			continue
		if (j > k)
			return ".\\\""
		names = names (names == "" ? "" : " ,\n.Sy ") whose[j]
	}
	return ".Pp\nFor\n.Sy " plain(names) " :\n" prose(doc[k])
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

# The types of profiles, as the help lists them: "cpu, memory or io".
function types(n,   i, text) {
	n = rows("include/types.def", "PROFILE_TYPE")
	for (i = 1; i <= n; i++)
		text = text (i == 1 ? "" : i == n ? " or " : ", ") row[i, 1]
	return text
}

function choices(n,   i, text) {
	for (i = 1; i <= n; i++)
		text = text (i == 1 ? "" : "|") row[i, 1]
	print ".Op Fl \\-type Ar " text
}

function scope(n,   i) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++)
		print ".It Sy " row[i, 1] "\n" prose(row[i, 2])
	print ".El"
}

function quotas(n,   i) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++) {
		print ".It Sy " row[i, 1] " Pq " row[i, 3] ", " row[i, 4]
		print prose(row[i, 5])
		print "To free some,\n" prose(row[i, 6] ".")
	}
	print ".El"
}

# A message as a sentence: "..." stands for each argument of printf(), and a
# name such as pprofUrl is not capitalized.
function sentence(text) {
	gsub(/%[a-z]+/, "...", text)
	if (text ~ /^[a-z]+[A-Z._]/)
		return text (text ~ /[.]$/ ? "" : ".")
	return toupper(substr(text, 1, 1)) substr(text, 2) (text ~ /[.]$/ ? "" : ".")
}

# What happened, and what to do about it if the text does not say so.
function remedied(text, remedy) {
	print prose(sentence(text) (remedy == "" ? "" : " " remedy))
}

function errors(n,   i) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++) {
		print ".It Sy " row[i, 1] " Pq " row[i, 2]
		remedied(row[i, 3], row[i, 4])
	}
	print ".El"
}

# The text of each row; if the row has a check, the remedy is doctor's.
function failures(file,   n, i, name, check) {
	n = rows("include/checks.def", "CHECK")
	for (i = 1; i <= n; i++)
		name["CHECK_" row[i, 1]] = row[i, 3]
	n = rows(file, "CAPTURE_ERROR")
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++) {
		check = name[row[i, 2]]
		if (check != "")
			check = "See " check " in stoker doctor."
		print ".It Sy " row[i, 3]
		remedied(row[i, 4], check)
	}
	print ".El"
}

# The notes of one weight; some end with a number.
function notes(file, weight,   n, i, numbered, remedy) {
	n = rows(file, "QUALITY_NOTE_NUMBER")
	for (i = 1; i <= n; i++)
		numbered[row[i, 1]] = ": N"
	n = rows(file, "QUALITY_NOTE_REMEDY")
	for (i = 1; i <= n; i++)
		remedy[row[i, 1]] = row[i, 2]
	n = rows(file, "QUALITY_NOTE")
	print ".Bl -bullet"
	for (i = 1; i <= n; i++) {
		if (row[i, 2] != weight)
			continue
		print ".It"
		remedied(row[i, 4] numbered[row[i, 1]], remedy[row[i, 1]])
	}
	print ".El"
}

function checks(n,   i) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++)
		print ".It Sy " row[i, 3] " Pq " (row[i, 2] == "api" ? "API" : row[i, 2]) \
			(row[i, 4] == "NEEDED" ? ", needed" : "") "\n" prose(sentence(row[i, 5]))
	print ".El"
}

# Prints a language's versions, from the arguments that name and describe them.
function versions(n, language, tested,   i) {
	for (i = 1; i <= n; i++)
		print ".It " language row[i, 1] " Ta " \
			(row[i, tested] == "LIVE" ? "recorded and running" : \
			row[i, tested] == "UNTRIED" ? "none" : "recorded")
}

function tools(n,   i) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= n; i++)
		print ".It Sy " row[i, 1] "\n" prose(row[i, 4])
	print ".El"
}

$1 == ".\\\"" && $2 == "rows" {
	if ($3 == "commands")
		commands($4)
	else if ($3 == "options")
		options($4, $5)
	else if ($3 == "exits")
		exits(rows($4, "LEAVE"))
	else if ($3 == "keys")
		keys(rows($4, "KEY"))
	else if ($3 == "tools")
		tools(rows($4, "TOOL"))
	else if ($3 == "scope")
		scope(rows($4, "SCOPE"))
	else if ($3 == "errors")
		errors(rows($4, "ERROR"))
	else if ($3 == "failures")
		failures($4)
	else if ($3 == "notes")
		notes($4, $5)
	else if ($3 == "checks")
		checks(rows($4, "CHECK"))
	else if ($3 == "quotas")
		quotas(rows($4, "QUOTA"))
	else if ($3 == "versions")
		versions(rows($4, $5), $6, $7)
	else if ($3 == "types")
		choices(rows($4, "PROFILE_TYPE"))
	else {
		print FILENAME ": no such rows: " $3 >"/dev/stderr"
		exit 1
	}
	next
}
{ print }
