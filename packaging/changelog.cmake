# Writes the changelog of a package when the package is made: which commit it is of.
# With `version`, `maintainer`, `source` (the tree) and `directory` (below the prefix).
execute_process(
  COMMAND git -C ${source} describe --always --abbrev=12 --dirty=\ and\ changes --exclude=*
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "sources without a commit")
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, if there is one
set(changelog "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${directory}/changelog")
file(WRITE "${changelog}"
     "pleat (${version}) unstable; urgency=medium\n\n"
     "  * Made of ${commit}.\n\n"
     " -- ${maintainer}  ${date}\n")
execute_process(COMMAND gzip -9nf "${changelog}" COMMAND_ERROR_IS_FATAL ANY)
