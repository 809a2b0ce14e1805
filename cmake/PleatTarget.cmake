# pleat_target(<target>): what every target of this tree has in common. pleat_library(<name>): a target
# that others link. pleat_precompiled(<target>): headers that are compiled once for a target.
# pleat_package(<target> <package> [<version>]): finds what that needs.
#
# Language level and visibility always; warnings and sanitizers only when this tree is the top level
# project. They come through `pleat_developer`, an interface target that is linked privately and
# never exported, so that nobody who embeds pleat inherits a flag from it.
add_library(pleat_developer INTERFACE)

if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(
    pleat_developer
    INTERFACE -Wall
              -Wextra
              -Wpedantic
              -Wshadow
              -Wconversion
              -Wnon-virtual-dtor
              -Woverloaded-virtual
              # Clang counts int as an index among its conversions; g++ does not.
              $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
              $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
              # False alarms of g++ 12 in functions of std::string, std::optional and <regex>.
              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
              $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
              $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
              $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
              # Members left out of a designated initializer have a default; that is their point.
              -Wno-missing-field-initializers
              $<$<BOOL:${PLEAT_WERROR}>:-Werror>)
  if(PLEAT_PRECOMPILED_HEADERS)
    # So that a compiler cache can tell what a precompiled header holds.
    target_compile_options(
      pleat_developer INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                                "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  if(PLEAT_SANITIZE)
    target_compile_options(
      pleat_developer INTERFACE -fsanitize=${PLEAT_SANITIZE} -fno-sanitize-recover=all
                                -fno-omit-frame-pointer)
    target_link_options(pleat_developer INTERFACE -fsanitize=${PLEAT_SANITIZE})
  endif()
endif()

# pleat_coverage(<target>): libFuzzer sees which way an input takes through the target. The fuzz
# targets and the libraries have this; tests do not, since they would only become slower.
function(pleat_coverage target)
  if(PLEAT_BUILD_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(pleat_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               # In a unity build the sources are included, which clang-tidy would find suspicious.
               UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:pleat_developer>)
endfunction()

# pleat_precompiled(<target> [<header>...]): the headers of others that most sources of ours include are
# compiled once for the target. Whoever uses pleat as source, and the preset dev, compile each source with
# what it includes itself.
function(pleat_precompiled target)
  if(PLEAT_PRECOMPILED_HEADERS)
    target_precompile_headers(
      ${target} PRIVATE <algorithm> <array> <atomic> <bit> <chrono> <cstdint> <cstring> <functional> <map>
      <memory> <optional> <set> <span> <string> <string_view> <utility> <vector>
      <absl/functional/function_ref.h> <absl/status/statusor.h> ${ARGN})
  endif()
endfunction()

# Makes the library `pleat` or `pleat_<name>`, which users call pleat::<name>; its sources follow by
# target_sources().
function(pleat_library name)
  set(target pleat)
  if(NOT name STREQUAL pleat)
    set(target pleat_${name})
  endif()
  add_library(${target})
  add_library(pleat::${name} ALIAS ${target})
  pleat_target(${target})
  pleat_coverage(${target})
  pleat_precompiled(${target})
  set_target_properties(
    ${target}
    PROPERTIES EXPORT_NAME ${name}
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  # An assertion names its file, but not where that was when it was compiled, nor how a compiler cache that
  # is to serve several folders has put it.
  file(RELATIVE_PATH from_build ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
                                           -fmacro-prefix-map=${from_build}=)
  # The file sets say this too, but not to a CMake before 3.23.
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL SHARED_LIBRARY)
    target_compile_definitions(${target} PUBLIC PLEAT_SHARED)  # see detail/export.h
  else()
    # So that a program can leave out what it does not call: -Wl,--gc-sections.
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  endif()
  if(NOT PROJECT_IS_TOP_LEVEL)
    # Warnings are for us to see, whatever the flags of the project around us.
    target_compile_options(${target} PRIVATE -w)
    set_target_properties(${target} PROPERTIES SYSTEM ON)
  endif()
endfunction()

# A dependency that the project around us has made a target of its own is used as it is.
macro(pleat_package target)
  if(NOT TARGET ${target})
    find_package(${ARGN} REQUIRED)
  endif()
endmacro()
