# overlap_precompile(<target>...): parse what most files include once a target, not once a file.
# HEADER is another header than the standard library's.
function(overlap_precompile)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "HEADER" "")
  if(NOT arg_HEADER)
    set(arg_HEADER ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
  endif()
  # GCC takes what it inlines from a precompiled header for ours, and warns of what it is silent about
  # in a header of the system. The preset dev, without precompiled headers, has these warnings.
  set(mistaken -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${arg_HEADER}>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${mistaken}>")
    endif()
  endforeach()
endfunction()
