# What a program needs to run on other machines than this one.
#
# SCALECALC_NATIVE builds the numeric kernels for this machine's processor; else SCALECALC_ARCH
# names one, as -march takes it (x86-64-v3 is every x86-64 processor with AVX2), and without either
# the compiler's default holds. SCALECALC_STATIC links every library but those of libc statically.
option(SCALECALC_NATIVE "Build the numeric kernels for this machine's processor" ON)
set(SCALECALC_ARCH "" CACHE STRING "Processor to build the numeric kernels for, without NATIVE")
option(SCALECALC_STATIC "Link every library but those of libc statically" OFF)

set(SCALECALC_MARCH "")
if(SCALECALC_NATIVE)
  set(SCALECALC_MARCH -march=native)
elseif(SCALECALC_ARCH)
  set(SCALECALC_MARCH -march=${SCALECALC_ARCH})
endif()

set(SCALECALC_FMT fmt::fmt)
if(SCALECALC_STATIC)
  set(SCALECALC_FMT fmt::fmt-header-only)
  add_link_options(-static-libgcc -static-libstdc++ -Wl,--as-needed)
endif()

# The program has C++'s library in itself: a shared one is looked for, mapped and bound at each start,
# which takes a millisecond. So do its plug-ins, as errors that they throw are unwound by both. Under
# sanitizers the library has to be shared.
set(SCALECALC_OWN_RUNTIME "")
if(UNIX AND NOT APPLE AND NOT SCALECALC_SANITIZE)
  set(SCALECALC_OWN_RUNTIME -static-libgcc -static-libstdc++ -Wl,--as-needed)
endif()
