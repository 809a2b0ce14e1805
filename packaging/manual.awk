# Turns what `pleat --help` or `pleat COMMAND --help` prints into a man page, so that there is one text
# to write. The shape of a help text, by the indentation of its lines:
#
#   0  "Name: text" begins a paragraph; "Name:" alone a section of examples, options or commands
#   2  an option, which begins with a dash; a command and what it does; or text that goes on
#   4  a command line, or output, to be shown as it is
#   6  the text of the option above
#
# usage: awk -v page=pleat-fold -v version=0.1.0 -v others='pleat pleat-live' -f manual.awk HELP
function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  gsub(/`/, "\\(ga", text)
  gsub(/\^/, "\\(ha", text)
  gsub(/~/, "\\(ti", text)
  sub(/^\./, "\\\\\\&.", text)
  return text
}

# Text as it is goes between .EX and .EE; in a note it stays below the note's name.
function as_it_is(yes) {
  if (yes && !literal) {
    if (current == "NOTES") print ".EX"
    else { paragraph(); print ".RS 4\n.EX" }
  }
  if (!yes && literal) print current == "NOTES" ? ".EE" : ".EE\n.RE"
  literal = yes
}

function section(name) {
  as_it_is(0)
  current = toupper(name)
  print ".SH \"" current "\""
  fresh = 1
}

function go_on_in(name) { if (current != toupper(name)) section(name) }

# The beginning of a section is one already.
function paragraph() { if (!fresh) print ".PP"; fresh = 0 }

BEGIN {
  print ".\\\" Made from the help text of pleat " version "."
  print ".TH " toupper(page) " 1 \"\" \"pleat " version "\" \"User commands\""
}

# "pleat fold: folds bursts", or for all commands together "pleat folds bursts."
NR == 1 {
  what = $0
  if (!sub(/^pleat [a-z]+: /, "", what)) { sub(/^pleat /, "", what); sub(/\.$/, "", what) }
  section("Name")
  print escaped(page) " \\- " escaped(what)
  if (page == "pleat") {
    section("Synopsis")
    print ".B pleat\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIFILE\\fR...]"
    section("Examples")
  }
  next
}

/^$/ { as_it_is(0); blank = 1; next }

/^Usage: / || (usage && /^       pleat /) {
  if (!usage) section("Synopsis")
  else print ".br"
  sub(/^(Usage:)? +/, "")
  print escaped($0)
  usage = 1
  next
}
{ usage = 0 }

/^Examples:$/ { section("Examples"); next }
/^Commands:$/ { section("Commands"); next }
/^Options:$/ { section("Options"); next }
/^[A-Z][^:]*:$/ {
  go_on_in("Options")
  sub(/:$/, "")
  print ".SS " escaped($0)
  next
}

# A paragraph behind the options: with a name, or without.
/^[^ ]/ {
  as_it_is(0)
  if (match($0, /^[A-Z][a-z]+( [a-z]+)?: /)) {
    name = substr($0, 1, RLENGTH - 2)
    if (name == "Exit codes") {
      section("Exit status")
    } else {
      go_on_in("Notes")
      print ".TP\n.B " escaped(name)
    }
    print escaped(substr($0, RLENGTH + 1))
  } else {
    go_on_in("Notes")
    paragraph()
    print escaped($0)
  }
  next
}

/^  -/ && current == "OPTIONS" {
  as_it_is(0)
  sub(/^ +/, "")
  placeholder = ""
  if (match($0, / [^-]/)) {
    placeholder = " \\fI" escaped(substr($0, RSTART + 1)) "\\fR"
    $0 = substr($0, 1, RSTART - 1)
  }
  print ".TP\n\\fB" escaped($0) "\\fR" placeholder
  next
}

(/^    [^ ]/ || (/^    / && literal)) && current != "OPTIONS" { as_it_is(1); print escaped(substr($0, 5)); next }

current == "COMMANDS" {
  print ".TP\n.BR pleat\\-" $1 " (1)"
  sub(/^ +[^ ]+ +/, "")
  print escaped($0)
  next
}

page == "pleat" && current == "EXAMPLES" { as_it_is(1) }

{
  if (literal && page != "pleat") as_it_is(0)
  if (!literal && blank && current == "EXAMPLES") paragraph()
  blank = 0
  sub(/^ +/, "")
  print escaped($0)
}

END {
  as_it_is(0)
  section("See also")
  count = split(others, names, " ")
  for (i = 1; i <= count; ++i) print ".BR " escaped(names[i]) " (1)" (i < count ? "," : "")
  print ".PP\nThe whole contract, and a document on each subject, are in \\fIshare/doc/pleat/docs\\fR."
}
