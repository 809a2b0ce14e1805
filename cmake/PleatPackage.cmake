# Two Debian packages, made by cpack: `pleat` is the program with its man pages, completions and documents,
# `libpleat-dev` the libraries. What the program shares with others is what dpkg-shlibdeps finds. With
# SOURCE_DATE_EPOCH in the environment and a umask of 022, which becomes the directories', the same sources
# give the same bytes. `./dev package` does it all.
set(PLEAT_MAINTAINER "The pleat authors <pleat@example.org>"
    CACHE STRING "Who answers for the packages, as \"Name <address>\"")
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(data ${CMAKE_INSTALL_DATADIR})

# pleat_package_documents(<component> <package>): what Debian wants in each package.
function(pleat_package_documents component package)
  install(
    FILES ${packaging}/copyright
    DESTINATION ${data}/doc/${package}
    COMPONENT ${component}
    EXCLUDE_FROM_ALL)
  install(
    CODE "set(version \"${PROJECT_VERSION}\")
          set(maintainer \"${PLEAT_MAINTAINER}\")
          set(source \"${PROJECT_SOURCE_DIR}\")
          set(directory \"${data}/doc/${package}\")
          include(\"${packaging}/changelog.cmake\")"
    COMPONENT ${component}
    EXCLUDE_FROM_ALL)
endfunction()
pleat_package_documents(program pleat)
pleat_package_documents(library libpleat-dev)
install(
  FILES ${PROJECT_BINARY_DIR}/program_files/completions/_pleat
  DESTINATION ${data}/zsh/vendor-completions
  COMPONENT program
  EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT "${PLEAT_MAINTAINER}")
set(CPACK_STRIP_FILES TRUE)
set(CPACK_COMPONENTS_ALL program library)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME pleat)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS tzdata) # for `--time-zone Europe/Berlin`
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
    "folds bursts of events into one event per group
pleat collects the events of a log or of a live stream by key, and prints one
line for each group once its key has gone quiet. It also says who is live and
until when, counts by key and by window of time, and says what every quiet
period would have done with a log. Input is newline-delimited JSON, CSV, TSV,
logfmt, JSON documents, server-sent events or access logs, plain, gzip or zstd.")

# The dependencies are what the headers, the CMake package and the pkg-config files name.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libpleat-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
    "libabsl-dev, libboost1.81-dev, libsimdjson-dev, libxxhash-dev, libzstd-dev")
if(TARGET pleat_kafka)
  string(APPEND CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ", librdkafka-dev")
endif()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "cmake, pkg-config, pleat")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
    "folds bursts of events into one event per group (C++ library)
An embedded C++20 engine that folds bursts of events into one event per group,
keeps live sets, and counts by window of time. These are static libraries,
headers, a CMake package and pkg-config files.")
include(CPack)
