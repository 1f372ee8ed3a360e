# Reads the rows of a .def table: NAME(arg, "text" "more text", ...).
#
#	n = rows(file, macro)	row[i, 1..] are its arguments, texts unquoted
#
# A table holds one macro, or several, one of which is wanted.

function rows(file, macro,   line, text, n) {
	text = ""
	while ((getline line < file) > 0)
		if (line !~ /^#/)
			text = text line "\n"
	close(file)
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
	for (n = 0; match(text, macro "\\("); ) {
		text = substr(text, RSTART + RLENGTH)
		text = arguments(text, ++n)
	}
	return n
}

# Fills row[n, ...] from the text behind "("; returns what follows ")".
function arguments(text, n,   k, c, depth, arg, quoted) {
	k = 1
	arg = ""
	depth = quoted = 0
	while (text != "") {
		c = substr(text, 1, 1)
		text = substr(text, 2)
		if (c == "\\" && quoted) {
			arg = arg substr(text, 1, 1)
			text = substr(text, 2)
		} else if (c == "\"") {
			quoted = !quoted
		} else if (quoted) {
			arg = arg c
		} else if (c == ")" && !depth) {
			break
		} else if (c == "," && !depth) {
			row[n, k++] = arg
			arg = ""
		} else if (c !~ /[ \t\n]/) {
			depth += (c == "(") - (c == ")")
			arg = arg c
		}
	}
	row[n, k] = arg
	return text
}
