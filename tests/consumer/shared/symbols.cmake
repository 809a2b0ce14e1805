# Writes the names that LIBRARIES export to FOUND, without parameters and versions, and compares
# them with LISTED. Weak symbols are left out: which of them there are is the compiler's business.
set(names)
foreach(library IN LISTS LIBRARIES)
  execute_process(COMMAND ${NM} --dynamic --defined-only --demangle ${library}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\\[abi:[^]]*\\]|pleat::v[0-9_]+::" "" symbols "${symbols}")
  string(REGEX MATCHALL "[0-9a-f]+ [TDBR] [^\n]+" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    string(REGEX REPLACE "^[0-9a-f]+ . " "" name "${symbol}")
    string(REPLACE "operator()" "operator call" name "${name}")
    string(REGEX REPLACE "\\(.*" "" name "${name}")
    list(APPEND names "${name}")
  endforeach()
endforeach()
list(SORT names)
list(REMOVE_DUPLICATES names)
list(JOIN names "\n" text)
file(WRITE ${FOUND} "${text}\n")

file(STRINGS ${LISTED} listed)
if(NOT names STREQUAL listed)
  set(more ${names})
  set(fewer ${listed})
  list(REMOVE_ITEM more ${listed})
  list(REMOVE_ITEM fewer ${names})
  message(FATAL_ERROR "The libraries export other symbols than listed; if that is meant, copy\n"
                      "${FOUND} to ${LISTED}.\nmore: ${more}\nfewer: ${fewer}")
endif()
