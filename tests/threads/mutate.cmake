# cmake -DSOURCE=... -DFIND=... -DREPLACE=... -DMUTANT=... -P mutate.cmake
#
# Writes a copy of SOURCE to MUTANT in which REPLACE stands for FIND. Fails unless FIND is found
# exactly once, so that a mutant does not become the original without anyone noticing.
file(READ "${SOURCE}" text)
string(FIND "${text}" "${FIND}" first)
string(FIND "${text}" "${FIND}" last REVERSE)
if(first EQUAL -1 OR NOT first EQUAL last)
  message(FATAL_ERROR "${SOURCE}: this text is not found exactly once: ${FIND}")
endif()
string(REPLACE "${FIND}" "${REPLACE}" text "${text}")
file(WRITE "${MUTANT}" "${text}")
