# overlap_kernel_plugin(<name> SOURCES <file>... LIBRARIES <target>...)
#
# A plug-in bin/kernels/<name>.so, which exports its entry and nothing else: what it links statically,
# the daemon's own classes among it, must not meet the daemon's copy.
set(OVERLAP_BUILT_PLUGIN_FOLDER ${PROJECT_BINARY_DIR}/bin/kernels)

function(overlap_kernel_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/kernels/plugin.map -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    SUFFIX ".so"
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${OVERLAP_BUILT_PLUGIN_FOLDER}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/plugin.map)
  set_property(GLOBAL APPEND PROPERTY OVERLAP_KERNEL_PLUGINS ${name})
endfunction()
