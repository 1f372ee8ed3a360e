# Turns sql/migrate/*.sql and sql/query/*.sql into C: an enum of statements
# and their texts in each dialect. Plain POSIX awk: Debian's is mawk.
#
#	awk -v header=sql.h -v source=sql.c -f sql.awk HEADER... FILE...
#	awk -v psql=prepare.sql -f sql.awk HEADER... FILE...	for tests/unit/postgres.sh
#
# {NAME} in a query is the text of `#define NAME "text"` in one of the C headers,
# or of a block above it that opens with `-- text: NAME`.
# A query is a block that opens with `-- name: job_claim`; a block of the same
# name with `-- dialect: postgres` below replaces it for PostgreSQL. A
# migration is a file NNNN_name.sql; `-- compatible: N` names the oldest
# release (by its newest migration) that still works on the new schema, and
# `-- dialect: ...` lines say which driver the following statements are for.

function fail(why) {
	print FILENAME ":" FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}
function quoted(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	gsub(/\n/, "\\n\"\n\t\"", s)
	return "\"" s "\""
}
# Highest parameter; they must appear in the order of their numbers, because
# SQLite numbers $NAME parameters by first appearance.
function parameters(key, text,	n, p) {
	n = 0
	while (match(text, /\$[0-9]+/)) {
		p = substr(text, RSTART + 1, RLENGTH - 1) + 0
		if (p > n + 1)
			fail(key ": $" p " before $" n + 1)
		if (p > n)
			n = p
		text = substr(text, RSTART + RLENGTH)
	}
	return n
}

FILENAME ~ /\.h$/ {
	if (match($0, /^#define [A-Z_]+ +"[^"]*"/)) {
		split(substr($0, RSTART, RLENGTH), defined, "\"")
		constant[$2] = defined[2]
	}
	next
}
FNR == 1 {
	migration = FILENAME ~ /(^|\/)migrate\//
	dialect = "all"
	name = part = ""
	if (migration) {
		file = FILENAME
		sub(/^.*\//, "", file)
		if (file !~ /^[0-9][0-9][0-9][0-9]_[a-z0-9_]+\.sql$/)
			fail("migrations are called NNNN_name.sql")
		if (substr(file, 1, 4) + 0 != ++nmigrations)
			fail("migrations are numbered without gaps")
		title[nmigrations] = substr(file, 6, length(file) - 9)
	}
}
/^-- compatible: / {
	compatible[nmigrations] = $3 + 0
	next
}
/^-- name: / {
	if ($3 !~ /^[a-z][a-z0-9_]*$/)
		fail("a name is of a-z, 0-9 and _")
	name = $3
	part = ""
	dialect = "sqlite"
	next
}
/^-- text: / {
	part = $3
	if (part in constant)
		fail(part " is defined twice")
	constant[part] = ""
	next
}
/^-- dialect: / {
	dialect = $3
	if (dialect !~ /^(sqlite|postgres|all)$/)
		fail("dialects are sqlite, postgres and all")
	next
}
{
	sub(/[ \t]*-- .*$/, "")
	sub(/^--$/, "")
	if ($0 ~ /^[ \t]*$/)
		next
	if (migration) {
		if (dialect != "postgres")
			schema[nmigrations, "sqlite"] = \
				schema[nmigrations, "sqlite"] $0 "\n"
		if (dialect != "sqlite")
			schema[nmigrations, "postgres"] = \
				schema[nmigrations, "postgres"] $0 "\n"
		next
	}
	if (part != "") {
		constant[part] = constant[part] (constant[part] == "" ? "" : "\n") $0
		next
	}
	if (name == "")
		fail("statement without a name")
	if (!(name in known)) {
		known[name] = 1
		names[++nnames] = name
	}
	while (match($0, /\{[A-Z_]+\}/)) {
		key = substr($0, RSTART + 1, RLENGTH - 2)
		if (!(key in constant))
			fail(name ": no header defines " key)
		$0 = substr($0, 1, RSTART - 1) constant[key] \
			substr($0, RSTART + RLENGTH)
	}
	key = name SUBSEP dialect
	if (text[key] ~ /;\n$/)
		fail(name ": text after its end")
	text[key] = text[key] $0 "\n"
}
END {
	if (failed)
		exit 1
	for (i = 1; i <= nnames; i++) {
		name = names[i]
		for (d = 1; d <= 2; d++) {
			key = name SUBSEP (d == 1 ? "sqlite" : "postgres")
			if (d == 2 && !(key in text))
				text[key] = text[name, "sqlite"]
			else if (!sub(/;\n$/, "", text[key]))
				fail(name ": does not end with ;")
			n[d] = parameters(name, text[key])
		}
		if (n[1] != n[2])
			fail(name ": dialects differ in parameters")
		nparams[name] = n[1]
	}
	if (psql != "")
		write_psql()
	else
		write_c()
}
function write_psql(	i) {
	for (i = 1; i <= nmigrations; i++)
		print schema[i, "postgres"] >psql
	for (i = 1; i <= nnames; i++)
		print "PREPARE " names[i] " AS\n" \
			text[names[i], "postgres"] ";" >psql
}
# Appends what the migrations make in SQLite, as this machine's sqlite3 lists it.
function write_objects(	i, sqlite) {
	sqlite = "sqlite3 -batch -bail -init /dev/null :memory: >>" source
	for (i = 1; i <= nmigrations; i++)
		print schema[i, "sqlite"] | sqlite
	print "SELECT '\t{\"' || what || '\", \"' || replace(replace(replace(" \
		"text, '\\', '\\\\'), '\"', '\\\"'), char(10), '\\n')" \
		" || '\"},' FROM (" text["schema_objects", "sqlite"] ") ORDER BY what;" | sqlite
	if (close(sqlite))
		fail("sqlite3 refuses a migration")
}
function write_c(	i, s) {
	print "/* Made by app/store/db/sql.awk from sql/. */" >header
	print "#pragma once\n\nenum sql {" >header
	for (i = 1; i <= nnames; i++)
		print "\tSQL_" toupper(names[i]) "," >header
	print "\tSQL_COUNT\n};\n" >header
	print "enum sql_dialect { SQL_SQLITE, SQL_POSTGRES };\n" >header
	print "struct sql_query {\n\tconst char *name;\n\tint nparams;" >header
	print "\tconst char *text[2]; /* by dialect */\n};\n" >header
	print "struct sql_migration {\n\tconst char *name;" >header
	print "\tint compatible; /* oldest that works on it */" >header
	print "\tconst char *text[2];\n};\n" >header
	print "extern const struct sql_query sql_queries[SQL_COUNT];" >header
	print "/* [i] brings the schema from version i to i + 1. */" >header
	print "#define SQL_VERSION " nmigrations >header
	print "extern const struct sql_migration" \
		" sql_migrations[SQL_VERSION];" >header
	print "/* What all migrations make in SQLite, in the order of" \
		" schema_objects; the last what is NULL. */" >header
	print "extern const struct sql_object {\n\tconst char *what, *text;" \
		"\n} sql_objects[];" >header

	print "#include \"store/sql.h\"\n" >source
	print "const struct sql_query sql_queries[SQL_COUNT] = {" >source
	for (i = 1; i <= nnames; i++) {
		s = names[i]
		print "\t{\"" s "\", " nparams[s] ", {" >source
		print "\t" quoted(text[s, "sqlite"]) "," >source
		print "\t" quoted(text[s, "postgres"]) "}}," >source
	}
	print "};\n" >source
	print "const struct sql_migration sql_migrations[SQL_VERSION] = {" \
		>source
	for (i = 1; i <= nmigrations; i++) {
		print "\t{\"" title[i] "\", " compatible[i] + 0 ", {" >source
		print "\t" quoted(schema[i, "sqlite"]) "," >source
		print "\t" quoted(schema[i, "postgres"]) "}}," >source
	}
	print "};\nconst struct sql_object sql_objects[] = {" >source
	close(source)
	write_objects()
	print "\t{0}\n};" >>source
}
