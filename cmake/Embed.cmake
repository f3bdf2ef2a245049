# Data files that become part of the library: X.json beside C sources is given
# to the compiler as the array wbi_data_<room>_<…>_X (tools/embed.c).
add_executable(waybill_embed ${CMAKE_SOURCE_DIR}/tools/embed.c)
file(GLOB_RECURSE data_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.json ${CMAKE_SOURCE_DIR}/src/*.sql)
foreach(file ${data_files})
  file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR}/src ${file})
  string(MAKE_C_IDENTIFIER "${relative}" name)
  set(generated ${CMAKE_BINARY_DIR}/embedded/${name}.c)
  add_custom_command(OUTPUT ${generated}
    COMMAND waybill_embed wbi_data_${name} ${file} ${generated}
    DEPENDS waybill_embed ${file} VERBATIM)
  target_sources(waybill_objects PRIVATE ${generated})
endforeach()
