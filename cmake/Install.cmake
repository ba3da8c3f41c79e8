# Programs, and what find_package(overlapd) finds: the client library overlap::producer, and
# overlap::kernel_abi for plug-ins.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(header_folder ${CMAKE_INSTALL_INCLUDEDIR}/overlapd)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/overlapd)

foreach(program IN ITEMS overlapd overlap-send overlapctl overlap-bench)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

get_property(plugins GLOBAL PROPERTY OVERLAP_KERNEL_PLUGINS)
install(TARGETS ${plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/overlapd/kernels)

install(FILES ${PROJECT_SOURCE_DIR}/systemd/overlapd.service
  DESTINATION lib/systemd/system)
install(FILES ${PROJECT_SOURCE_DIR}/systemd/overlapd.conf
  DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/overlapd)

set_target_properties(overlap_warnings PROPERTIES EXPORT_NAME warnings)
set_target_properties(overlap_shared PROPERTIES EXPORT_NAME shared)
set_target_properties(overlap_producer PROPERTIES EXPORT_NAME producer)
install(TARGETS overlap_warnings overlap_shared overlap_producer
  EXPORT overlapd-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${header_folder}
  INCLUDES DESTINATION ${header_folder})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/shared ${PROJECT_SOURCE_DIR}/producer
  DESTINATION ${header_folder}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
# For plug-ins: overlap::kernel_abi, which is headers alone. kernel.hpp and what exports a kernel
# object are for those that are written in C++.
set_target_properties(overlap_kernel_abi PROPERTIES EXPORT_NAME kernel_abi)
install(TARGETS overlap_kernel_abi EXPORT overlapd-kernel-targets
  INCLUDES DESTINATION ${header_folder})
install(FILES
  ${PROJECT_SOURCE_DIR}/kernels/overlap_kernel.h
  ${PROJECT_SOURCE_DIR}/kernels/kernel.hpp
  ${PROJECT_SOURCE_DIR}/kernels/batch_items.hpp
  ${PROJECT_SOURCE_DIR}/kernels/plugin_export.hpp
  DESTINATION ${header_folder}/kernels)
install(EXPORT overlapd-kernel-targets NAMESPACE overlap:: DESTINATION ${package_folder})
install(EXPORT overlapd-targets NAMESPACE overlap:: DESTINATION ${package_folder})

set(OVERLAP_INSTALLED_PLUGINS ${CMAKE_INSTALL_LIBDIR}/overlapd/kernels)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/overlapdConfig.cmake.in
  ${PROJECT_BINARY_DIR}/overlapdConfig.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS OVERLAP_INSTALLED_PLUGINS)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/overlapdConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/overlapdConfig.cmake
  ${PROJECT_BINARY_DIR}/overlapdConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/overlapdPlugin.cmake
  DESTINATION ${package_folder})
