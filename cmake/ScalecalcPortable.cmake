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
  add_link_options(-static-libstdc++ -Wl,--as-needed)
endif()

# The program and its plug-ins have C++'s library in themselves: a shared one is looked for, mapped and
# bound at each start, which takes a millisecond. What unwinds the stack stays shared, as an error may
# leave by frames of libc (std::call_once) and of plug-ins, which have to see the same unwinder. Under
# sanitizers the library has to be shared.
set(SCALECALC_OWN_RUNTIME "")
if(UNIX AND NOT APPLE AND NOT SCALECALC_SANITIZE)
  set(SCALECALC_OWN_RUNTIME -static-libstdc++ -Wl,--as-needed)
endif()
