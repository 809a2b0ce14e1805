# Decides which tokenizer pleat_json gets: sets PLEAT_USES_SIMDJSON. Read for pleat::json.
#
# The fast tokenizer uses a part of simdjson that is meant for simdjson itself. So it is chosen only if
# a probe succeeds: that tokenizer, on texts whose tokens are known, compiles and runs. It does not
# compile with a version outside the range in engine/lines/scan/fast_tokenizer.cc. (find_package() cannot
# check a range here: the package of simdjson accepts ranges within one minor version only.) Where the
# build machine cannot run what it compiles, compiling is enough: the same check runs again when a
# process first needs a tokenizer.
#
# Without the fast tokenizer pleat_json gets the plain one: same results, slower, no simdjson. A
# machine without vector instructions uses the plain one as well, and fails the probe.
option(PLEAT_PLAIN_TOKENIZER "Find the tokens of a line without simdjson" OFF)

# pleat_probe_simdjson(<result>): whether the fast tokenizer works with simdjson::simdjson, which was
# found. The answer is remembered for each version.
function(pleat_probe_simdjson result)
  set(works PLEAT_SIMDJSON_${simdjson_VERSION}_WORKS)
  if(NOT DEFINED ${works})
    set(probe
        SOURCES ${PROJECT_SOURCE_DIR}/cmake/simdjson_probe.cc
                ${PROJECT_SOURCE_DIR}/engine/lines/scan/fast_tokenizer.cc
                ${PROJECT_SOURCE_DIR}/engine/lines/scan/tokenizer_check.cc
                ${PROJECT_SOURCE_DIR}/engine/base/check.cc
        LINK_LIBRARIES simdjson::simdjson)
    set(language CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
    set(includes "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR};${PROJECT_SOURCE_DIR}/include")
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
      set(code 0)
      try_compile(compiles ${probe} CMAKE_FLAGS "${includes}" OUTPUT_VARIABLE output ${language})
    else()
      try_run(code compiles ${probe} CMAKE_FLAGS "${includes}"
              COMPILE_OUTPUT_VARIABLE output RUN_OUTPUT_VARIABLE said ${language})
    endif()
    set(fits FALSE)
    if(compiles AND code EQUAL 0)
      set(fits TRUE)
    else()
      message(WARNING "The probe of simdjson ${simdjson_VERSION} fails (${code}):\n${output}\n${said}")
    endif()
    unset(compiles CACHE)
    unset(code CACHE)
    set(${works} ${fits} CACHE INTERNAL "Whether the fast tokenizer works with this simdjson")
  endif()
  set(${result} ${${works}} PARENT_SCOPE)
endfunction()

# Tests compare the two tokenizers wherever the fast one works, also if the library has the plain one.
if(NOT PLEAT_PLAIN_TOKENIZER)
  pleat_package(simdjson::simdjson simdjson)
elseif(PLEAT_BUILD_TESTS OR PLEAT_BUILD_FUZZERS)
  find_package(simdjson QUIET)
endif()
set(PLEAT_HAS_SIMDJSON FALSE)
if(TARGET simdjson::simdjson)
  get_target_property(found simdjson::simdjson IMPORTED)
  if(found)
    pleat_probe_simdjson(PLEAT_HAS_SIMDJSON)
  else()
    # A part of the project around us, which is not built yet: nothing to run.
    set(PLEAT_HAS_SIMDJSON TRUE)
  endif()
endif()

set(PLEAT_USES_SIMDJSON ${PLEAT_HAS_SIMDJSON})
if(PLEAT_PLAIN_TOKENIZER)
  set(PLEAT_USES_SIMDJSON FALSE)
elseif(NOT PLEAT_HAS_SIMDJSON)
  message(WARNING "pleat::json gets its plain tokenizer, which is slower. "
                  "To choose it without this warning, set PLEAT_PLAIN_TOKENIZER=ON.")
endif()

# pleat_fast_tokenizer(<target>): gives the fast tokenizer to a test that links pleat_json.
# REQUIRES: PLEAT_HAS_SIMDJSON.
function(pleat_fast_tokenizer target)
  if(NOT PLEAT_USES_SIMDJSON)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/engine/lines/scan/fast_tokenizer.cc)
    target_link_libraries(${target} PRIVATE simdjson::simdjson)
  endif()
endfunction()
