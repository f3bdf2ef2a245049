# Warnings and hardening, each flag probed: compilers differ in what they know.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

add_library(waybill_flags INTERFACE)
target_compile_definitions(waybill_flags INTERFACE _GNU_SOURCE WB_BUILDING_SHARED=1
  WAYBILL_VERSION="${PROJECT_VERSION}")

# A compiler takes any -Wno-…, known or not: the warning itself is asked for.
function(waybill_probe_flag flag)
  string(MAKE_C_IDENTIFIER "have_${flag}" name)
  string(REGEX REPLACE "^-Wno-" "-W" asked ${flag})
  check_c_compiler_flag(${asked} ${name})
  if(${name})
    target_compile_options(waybill_flags INTERFACE ${flag})
  endif()
endfunction()

function(waybill_probe_link flag)
  string(MAKE_C_IDENTIFIER "have_link_${flag}" name)
  check_linker_flag(C ${flag} ${name})
  if(${name})
    target_link_options(waybill_flags INTERFACE ${flag})
  endif()
endfunction()

foreach(flag -Wall -Wextra -Wno-missing-field-initializers -Wno-string-concatenation -Wshadow -Wvla -Wformat=2 -Wimplicit-fallthrough -Wstrict-prototypes
        -Wmissing-prototypes -Wwrite-strings -Wundef -Wpointer-arith -Wcast-qual
        -fno-strict-aliasing -fno-delete-null-pointer-checks -fno-strict-overflow
        -fstack-protector-strong -fstack-clash-protection -fcf-protection=full
        -fstrict-flex-arrays=3 -ftrivial-auto-var-init=zero)
  waybill_probe_flag(${flag})
endforeach()
if(WAYBILL_WERROR)
  target_compile_options(waybill_flags INTERFACE -Werror)
endif()

foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed)
  waybill_probe_link(${flag})
endforeach()

# Undefined first: Ubuntu's compilers fortify by themselves. Only what is released is: tests
# put faults in the place of the C library's functions, and the checked forms go around them.
target_compile_options(waybill_flags INTERFACE -U_FORTIFY_SOURCE)
if(WAYBILL_SANITIZE)
  target_compile_options(waybill_flags INTERFACE -fsanitize=${WAYBILL_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(waybill_flags INTERFACE -fsanitize=${WAYBILL_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(waybill_flags INTERFACE -D_FORTIFY_SOURCE=3)
endif()
if(WAYBILL_FUZZ)
  target_compile_options(waybill_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WAYBILL_COVERAGE)
  target_compile_options(waybill_flags INTERFACE --coverage)
  target_link_options(waybill_flags INTERFACE --coverage)
endif()

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
