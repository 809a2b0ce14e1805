# complete.zsh DIRECTORY: puts DIRECTORY into the fpath and answers each command line of its input with what
# zsh makes of the last word. Only an interactive zsh completes, so there is one on a terminal of its own.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= RPS1=; stty -echo; unsetopt prompt_cr; fpath=($1 \$fpath)"
zpty -w shell 'autoload -U compinit; compinit -u -D; zstyle ":completion:*" menu no'
zpty -w shell 'answer() { print -r -- "<${${(z)BUFFER}[-1]}>"; BUFFER= }; zle -N answer; bindkey "^X" answer'
zpty -w shell 'print -r -- "<"ready">"'
zpty -r shell said '*<ready>*'
while read -r line; do
  zpty -n -w shell "$line"$'\t\x18'
  zpty -r shell said '*<*>*'
  said=${said##*<}
  print -r -- ${said%%>*}
done
zpty -d shell
