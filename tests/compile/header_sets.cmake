# Fails if a file under include/ is not among `listed`: it would be neither tested nor installed.
file(GLOB_RECURSE found ${include_dir}/*)
list(REMOVE_ITEM found ${listed})
if(found)
  message(FATAL_ERROR "not in a file set of engine/CMakeLists.txt: ${found}")
endif()
