# overlapd_add_plugin(<name> <source>...)
#
# Makes <name>.so, a plug-in for overlapd: nothing of it is visible but the entry, it has no `lib` in
# front of its name, and links nothing of overlapd. Where the umask lets a group write, that is taken
# away from the file and the folder that it is built in: the daemon would refuse both. Put it into a folder of `kernel-path`, or install it to
# overlapd_PLUGIN_FOLDER.
function(overlapd_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE overlap::kernel_abi)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    SUFFIX .so
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    CUDA_RUNTIME_LIBRARY Static)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND chmod go-w $<TARGET_FILE:${name}> $<TARGET_FILE_DIR:${name}>)
endfunction()
