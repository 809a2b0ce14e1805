# complete.fish FILE: sources FILE and answers each command line of its input with what fish offers.
source $argv[1]
while read -l line
    complete -C $line | string replace -r '\t.*' '' | string join ' '
end
