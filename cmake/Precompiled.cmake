# overlap_precompile(<target>...): parse what most files include once a target, not once a file.
# HEADER is another header than the standard library's.
function(overlap_precompile)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "HEADER" "")
  if(NOT arg_HEADER)
    set(arg_HEADER ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
  endif()
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${arg_HEADER}>)
  endforeach()
endfunction()
