# What `cmake --install` puts where: libraries, the headers of their file sets, a CMake package with one
# target file per component, and pkg-config files that find their prefix from where they lie, so that
# an installed tree can be moved; and the program with its man pages, completions and documents. Packages
# are made of two components of it, `library` and `program`.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pleat)

# pleat_install(<target> <component>)
function(pleat_install target component)
  install(
    TARGETS ${target}
    EXPORT pleat-${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(
    EXPORT pleat-${component}
    NAMESPACE pleat::
    FILE pleat-${component}-targets.cmake
    DESTINATION ${package_dir})
endfunction()

# pleat_install_pc(<name>): <name>.pc.in of this directory.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
get_target_property(type pleat TYPE)
set(pc_define)
if(type STREQUAL SHARED_LIBRARY)
  set(pc_define " -DPLEAT_SHARED")
  set(pc_private)
else()
  # A static library leaves to the program what it uses itself.
  set(pc_private " libxxhash libzstd")
endif()
function(pleat_install_pc name)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

pleat_install(pleat core)
pleat_install_pc(pleat)
pleat_install(pleat_store store)
pleat_install_pc(pleat-store)
pleat_install(pleat_lanes lanes)
pleat_install_pc(pleat-lanes)
if(TARGET pleat_kafka)
  pleat_install(pleat_kafka kafka)
  pleat_install_pc(pleat-kafka)
endif()
if(PLEAT_WITH_JSON)
  pleat_install(pleat_json json)
  set(pc_simdjson)
  if(PLEAT_USES_SIMDJSON)
    set(pc_simdjson ", simdjson")
  endif()
  pleat_install_pc(pleat-json)
endif()
if(PLEAT_WITH_ASIO)
  pleat_install(pleat_asio asio)
  pleat_install_pc(pleat-asio)
endif()
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/pleatConfig.cmake.in ${PROJECT_BINARY_DIR}/pleatConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change anything.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/pleatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pleatConfig.cmake
              ${PROJECT_BINARY_DIR}/pleatConfigVersion.cmake
        DESTINATION ${package_dir})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
if(TARGET pleat_cli)
  install(TARGETS pleat_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET pleat_program_files)
  set(made ${PROJECT_BINARY_DIR}/program_files)
  set(data ${CMAKE_INSTALL_DATADIR})
  install(DIRECTORY ${made}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${made}/completions/pleat DESTINATION ${data}/bash-completion/completions)
  install(FILES ${made}/completions/pleat.fish DESTINATION ${data}/fish/vendor_completions.d)
  # Packages put this elsewhere.
  install(FILES ${made}/completions/_pleat
          DESTINATION ${data}/zsh/site-functions
          COMPONENT unpackaged)
endif()
# As in the tree, so that their links to each other lead there as well.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
        DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN CMakeLists.txt EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT unpackaged)
