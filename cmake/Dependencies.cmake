# The libraries Waybill stands on. libcrypto is loaded at run time (base/sign.c).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(YYJSON REQUIRED IMPORTED_TARGET yyjson)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
find_path(LLHTTP_INCLUDE llhttp.h REQUIRED)
find_library(LLHTTP_LIBRARY llhttp REQUIRED)

add_library(waybill_deps INTERFACE)
target_link_libraries(waybill_deps INTERFACE
  PkgConfig::UV PkgConfig::YYJSON PkgConfig::SQLITE PkgConfig::PCRE2
  ${LLHTTP_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)
