# complete.bash FILE: sources FILE and answers each command line of its input with what bash offers.
source "$1"
compopt() { :; }
while read -r line; do
  read -ra COMP_WORDS <<<"$line"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _pleat
  printf '%s\n' "${COMPREPLY[*]}"
done
