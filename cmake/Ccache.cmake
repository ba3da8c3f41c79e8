# A rebuild of what was built before costs nothing, in another build folder too.
find_program(OVERLAP_CCACHE ccache)
if(OVERLAP_CCACHE)
  foreach(language IN ITEMS CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      # With a precompiled header it would otherwise keep nothing.
      set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${OVERLAP_CCACHE})
    endif()
  endforeach()
endif()
