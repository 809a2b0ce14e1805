# Nothing of pleat shows in the plugin that has it inside, and nothing of the machine that compiled
# it in the archive.
execute_process(COMMAND ${NM} --dynamic --defined-only --demangle ${PLUGIN} OUTPUT_VARIABLE symbols
                        COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]*pleat[^\n]*" exported "${symbols}")
if(exported)
  list(LENGTH exported count)
  list(JOIN exported "\n" exported)
  message(FATAL_ERROR "the plugin exports ${count} symbols of pleat:\n${exported}")
endif()

execute_process(COMMAND grep --text --only-matching --fixed-strings ${PLEAT_SOURCE_DIR}/ ${ARCHIVE}
                OUTPUT_VARIABLE paths)
if(paths)
  message(FATAL_ERROR "the archive names the directory that it was compiled from:\n${paths}")
endif()
