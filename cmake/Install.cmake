include(CMakePackageConfigHelpers)
if(TARGET waybill)
  install(TARGETS waybill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS waybill_shared waybill_static
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What a program that holds the static library is linked with.
set(WAYBILL_PRIVATE_LIBRARIES uv yyjson sqlite3 pcre2-8 llhttp pthread dl m)
list(TRANSFORM WAYBILL_PRIVATE_LIBRARIES PREPEND -l OUTPUT_VARIABLE WAYBILL_PRIVATE_FLAGS)
string(REPLACE ";" " " WAYBILL_PRIVATE_FLAGS "${WAYBILL_PRIVATE_FLAGS}")
# `make install` names its prefix after the build was configured: nothing installed may hold one.
file(RELATIVE_PATH WAYBILL_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WAYBILL_PC_TO_PREFIX ${WAYBILL_PC_TO_PREFIX})
install(DIRECTORY include/waybill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
configure_file(cmake/waybill.pc.in ${CMAKE_BINARY_DIR}/waybill.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/waybill.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(cmake/waybill-config.cmake.in ${CMAKE_BINARY_DIR}/waybill-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/waybill)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/waybill-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/waybill-config.cmake ${CMAKE_BINARY_DIR}/waybill-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/waybill)
file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.1 docs/man/*.3 docs/man/*.5 docs/man/*.7)
foreach(page ${man_pages})
  string(REGEX MATCH "[0-9]$" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
if(EXISTS ${CMAKE_SOURCE_DIR}/completions/waybill.bash)
  install(FILES completions/waybill.bash RENAME waybill
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES completions/_waybill DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
