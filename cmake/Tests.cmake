# x_test.c beside the code: one program, one ctest entry named room/x.
# tests/*.sh: whole programs; they get WAYBILL (the binary) in the environment.
# tests/fuzz/fuzz_x.c: replayed over tests/fuzz/corpus/x in every build, and a
# libFuzzer program with WAYBILL_FUZZ.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
set(test_environment
  "WAYBILL=$<TARGET_FILE_DIR:waybill_static>/waybill"
  "WAYBILL_SOURCE=${CMAKE_SOURCE_DIR}"
  "WAYBILL_BUILD=${CMAKE_BINARY_DIR}"
  "ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1"
  "UBSAN_OPTIONS=print_stacktrace=1")

# What several tests share. Linked by all; tests/faults/*.h are included instead,
# since they replace functions of the C library.
file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c)
add_library(waybill_test_support STATIC ${support_sources})
target_include_directories(waybill_test_support PRIVATE src include tests)
target_compile_definitions(waybill_test_support PRIVATE WAYBILL_SOURCE="${CMAKE_SOURCE_DIR}")
target_link_libraries(waybill_test_support PRIVATE waybill_flags waybill_static)

function(waybill_test name source)
  string(MAKE_C_IDENTIFIER "${name}" target)
  set(target test_${target})
  add_executable(${target} ${source} ${ARGN})
  target_include_directories(${target} PRIVATE src include tests)
  target_link_libraries(${target} PRIVATE waybill_flags waybill_test_support waybill_static
    PkgConfig::CMOCKA)
  target_compile_definitions(${target} PRIVATE WAYBILL_SOURCE="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${test_environment}")
endfunction()

file(GLOB unit_tests CONFIGURE_DEPENDS src/*/*_test.c src/*/*/*_test.c tests/*_test.c)
foreach(source ${unit_tests})
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
  string(REGEX REPLACE "^src/" "" name "${name}")
  string(REGEX REPLACE "_test\\.c$" "" name "${name}")
  waybill_test(${name} ${source})
endforeach()

file(GLOB script_tests CONFIGURE_DEPENDS tests/*/*_test.sh tests/*_test.sh)
foreach(script ${script_tests})
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${script})
  string(REGEX REPLACE "_test\\.sh$" "" name "${name}")
  add_test(NAME ${name} COMMAND bash ${script} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${test_environment}" SKIP_RETURN_CODE 77)
endforeach()

file(GLOB fuzz_targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source ${fuzz_targets})
  get_filename_component(target ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" short ${target})
  if(WAYBILL_FUZZ)
    add_executable(${target} ${source})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} ${source} tests/fuzz/replay.c)
    add_test(NAME fuzz/${short} COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${short})
    set_tests_properties(fuzz/${short} PROPERTIES ENVIRONMENT "${test_environment}")
  endif()
  target_include_directories(${target} PRIVATE src include tests)
  target_link_libraries(${target} PRIVATE waybill_flags waybill_static)
endforeach()

# Examples see the public headers and the shared library, nothing else.
set(example_embed_args ${CMAKE_SOURCE_DIR}/examples/tools.json greet "{\"who\":\"Ada\"}")
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE waybill_flags waybill_shared)
  add_test(NAME examples/${name} COMMAND sh ${CMAKE_SOURCE_DIR}/tests/support/expect.sh
    ${CMAKE_SOURCE_DIR}/examples/${name}.expected $<TARGET_FILE:example_${name}>
    ${example_${name}_args})
  set_tests_properties(examples/${name} PROPERTIES ENVIRONMENT "${test_environment}")
endforeach()

# docs/errors.md is what the table says; `cmake --build … --target error_page` writes it.
add_executable(gen_error_page tools/gen_error_page.c)
target_link_libraries(gen_error_page PRIVATE waybill_flags waybill_shared)
add_custom_target(error_page COMMAND gen_error_page > ${CMAKE_SOURCE_DIR}/docs/errors.md VERBATIM)
add_test(NAME docs/errors COMMAND sh -c
  "\"$1\" | diff - \"$2\" || { echo 'run: cmake --build --preset dev --target error_page'; exit 1; }"
  sh $<TARGET_FILE:gen_error_page> ${CMAKE_SOURCE_DIR}/docs/errors.md)
set_tests_properties(docs/errors PROPERTIES ENVIRONMENT "${test_environment}")

file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${bench_sources})
  get_filename_component(target ${source} NAME_WE)
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE src include bench)
  target_link_libraries(${target} PRIVATE waybill_flags waybill_static)
endforeach()

# tests/mcp/x.c: servers for the tests of MCP, programs named mcp_x; the load generator.
file(GLOB mcp_programs CONFIGURE_DEPENDS tests/mcp/*.c)
list(FILTER mcp_programs EXCLUDE REGEX "_test\\.c$")
foreach(source ${mcp_programs})
  get_filename_component(name ${source} NAME_WE)
  add_executable(mcp_${name} ${source})
  target_include_directories(mcp_${name} PRIVATE src include tests)
  target_link_libraries(mcp_${name} PRIVATE waybill_flags waybill_test_support waybill_static)
endforeach()
file(GLOB load_sources CONFIGURE_DEPENDS tests/mcp/load/*.c)
add_executable(mcp_load ${load_sources})
target_link_libraries(mcp_load PRIVATE waybill_flags)
