# A rebuild of what was built before costs nothing, in another build folder too.
find_program(OVERLAP_CCACHE ccache)
if(OVERLAP_CCACHE)
  foreach(language IN ITEMS CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${OVERLAP_CCACHE})
    endif()
  endforeach()
endif()
