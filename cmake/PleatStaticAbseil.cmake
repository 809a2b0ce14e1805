# Links static libraries of abseil instead of shared ones, so that a program needs no abseil of the machine
# that it runs on: the name of the shared ones changes with each release. Debian has both, but its CMake
# package knows the shared ones only; here each of its targets gets the library that lies beside. These are
# the targets of the whole tree, so that no program gets one abseil twice.
find_package(absl REQUIRED)
get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER targets INCLUDE REGEX "^absl::")
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "SHARED_LIBRARY")
    continue()
  endif()
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    get_target_property(shared ${target} IMPORTED_LOCATION_${configuration})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" static "${shared}")
    if(EXISTS "${static}")
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${static})
    endif()
  endforeach()
endforeach()
