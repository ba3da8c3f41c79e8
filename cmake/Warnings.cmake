# overlap_warnings: how our own code is compiled. Nothing of it reaches those who use the installed
# library.
add_library(overlap_warnings INTERFACE)
add_library(overlap::warnings ALIAS overlap_warnings)

set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It sees an overlap inside its own std::string (GCC bug 105651).
  list(APPEND warnings -Wno-restrict)
endif()
# Host and GPU agree bit for bit only if a*x+b is never contracted to one rounding.
set(cxx_options ${warnings} -ffp-contract=off)
# nvcc's own output for the host compiler is neither pedantic nor free of conversions.
set(cuda_options -Xcompiler=-Wall,-Wextra,-Wshadow,-ffp-contract=off)
if(CMAKE_COMPILE_WARNING_AS_ERROR)
  list(APPEND cuda_options -Xcompiler=-Werror)
endif()
target_compile_options(overlap_warnings INTERFACE
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${cxx_options}>>"
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>>")

# overlap_warn_in(<folder>...): every program and library made there is compiled that way.
function(overlap_warn_in)
  foreach(folder IN LISTS ARGN)
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:overlap_warnings>)
      endif()
    endforeach()
  endforeach()
endfunction()
